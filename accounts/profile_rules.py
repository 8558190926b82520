"""Rules of the fields of a profile other than the names."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.validators import UNPRINTABLE, Texts
from socialsite.core.media import video_links

# Characters that a text in one line must not have; Cf are formats, such as overrides of direction.
CONTROLS = UNPRINTABLE | {"Cf"}


def one_line(text: str) -> str:
    """Return a text in one line, without invisible control characters."""
    shown = (" " if unicodedata.category(c) in CONTROLS else c for c in text)
    return unicodedata.normalize("NFC", " ".join("".join(shown).split()))


def links(values: Sequence[str]) -> Texts:
    """Return the mistakes of the links of a profile."""
    if len(values) > User.LINKS_MAX:
        return [_("At most %(limit)s links.") % {"limit": User.LINKS_MAX}]
    if any(len(value) > User.LINK_MAX for value in values):
        return _too_long(User.LINK_MAX, "x" * (User.LINK_MAX + 1))
    # The same rule as for videos: no user name or password, and a host that is public in form.
    if not all(video_links.host_of(value) for value in values):
        return [_("A link must begin with https:// and have the name of a public site.")]
    return []


def language(value: str) -> Texts:
    """Return the mistakes of the language of an account; "" means none."""
    if value in ("", *dict(settings.LANGUAGES)):
        return []
    return [_("The site does not have this language.")]


def _too_long(limit: int, value: str) -> Texts:
    return [_("At most %(limit)s characters.") % {"limit": limit}] if len(value) > limit else []


PROFILE: Mapping[str, Callable[[Any], Texts]] = {
    "bio": partial(_too_long, User.BIO_MAX),
    "links": links,
    "place": partial(_too_long, User.PLACE_MAX),
    "pronouns": partial(_too_long, User.PRONOUNS_MAX),
    "language": language,
}
