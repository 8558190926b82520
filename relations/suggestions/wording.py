"""The reason of a suggestion in the reader's language."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from relations.suggestions.queries import Reason, Suggestion


def with_reasons(people: Iterable[Suggestion]) -> list[dict[str, Any]]:
    """Return the people for a page, each with the reason as `why`."""
    return [{**person, "why": sentence(person["reason"])} for person in people]


def sentence(reason: Reason) -> str:
    """Return the reason as a short sentence."""
    names = [person["nickname"] or person["username"] for person in reason["common"]]
    count = reason["count"]
    if not names:
        return _("Popular here")
    if count == 1:
        return _("Followed by %(name)s") % {"name": names[0]}
    if count == len(names) == 2:
        return _("Followed by %(name)s and %(other)s") % {"name": names[0], "other": names[1]}
    text = ngettext(
        "Followed by %(name)s and %(count)d more",
        "Followed by %(name)s and %(count)d more",
        count - 1,
    )
    return text % {"name": names[0], "count": count - 1}
