"""The Jinja2 environment of the pages."""

import zlib
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language, gettext, ngettext
from django_htmx.jinja import htmx_script
from jinja2 import Environment, StrictUndefined

AVATAR_HUES = 8
MINUTE, HOUR, DAY = 60, 3600, 86400


def url(name: str, *args: Any) -> str:
    """Return the address of a named page."""
    return reverse(name, args=args)


def avatar_hue(username: str) -> int:
    """Return 0 to 7, always the same for one name: the colour of a person without a picture."""
    return zlib.crc32(username.encode()) % AVATAR_HUES


def timesince_short(moment: str) -> str:
    """Return how long ago an ISO time is, in a few characters; a date after a week."""
    then = datetime.fromisoformat(moment)
    seconds = int((datetime.now(UTC) - then).total_seconds())
    if seconds < MINUTE:
        return gettext("now")
    if seconds < HOUR:
        return gettext("%(n)s min") % {"n": seconds // MINUTE}
    if seconds < DAY:
        return gettext("%(n)s h") % {"n": seconds // HOUR}
    if seconds < 7 * DAY:
        return gettext("%(n)s d") % {"n": seconds // DAY}
    return f"{then:%Y-%m-%d}"


def environment(**options: Any) -> Environment:
    """Make the environment; a name that no view gave is an error, not an empty text."""
    options |= {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    env = Environment(**options)  # noqa: S701  (Django's backend passes autoescape=True)
    env.globals.update(
        _=gettext,
        gettext=gettext,
        ngettext=ngettext,
        static=static,
        url=url,
        avatar_hue=avatar_hue,
        timesince_short=timesince_short,
        htmx_script=htmx_script,
        LANGUAGES=settings.LANGUAGES,
    )
    return env


def page_context(request: HttpRequest) -> dict[str, Any]:
    """What every page may use."""
    return {"LANGUAGE_CODE": get_language() or settings.LANGUAGE_CODE}
