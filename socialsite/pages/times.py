"""Times and texts in the reader's language, translated once in a process."""

import functools
from datetime import UTC, datetime

from django.utils import translation
from django.utils.translation import get_language, gettext_noop

# Results of each kind that a process keeps.
KEPT = 4096
MINUTE, HOUR, DAY = 60, 3600, 86400
_NOW = gettext_noop("now")
# Words, the unit they count, and the seconds they are used up to.
_SPANS = (
    (gettext_noop("%(n)s min"), MINUTE, HOUR),
    (gettext_noop("%(n)s h"), HOUR, DAY),
    (gettext_noop("%(n)s d"), DAY, 7 * DAY),
)
_ENDS = (
    (gettext_noop("ends in %(n)s min"), MINUTE, 2 * HOUR),
    (gettext_noop("ends in %(n)s h"), HOUR, 2 * DAY),
    (gettext_noop("ends in %(n)s d"), DAY, 0),
)


@functools.lru_cache(KEPT)
def translated(_language: str | None, text: str) -> str:
    return translation.gettext(text)


def timesince_short(moment: str) -> str:
    """Return how long ago an ISO time is, in a few characters; a date after a week."""
    return since(moment, datetime.now(UTC), get_language())


def until_short(moment: str) -> str:
    """Return how long it is until the end of a poll, as a short sentence."""
    return until(moment, datetime.now(UTC), get_language())


def until(moment: str, now: datetime, language: str | None) -> str:
    seconds = max(0, int((datetime.fromisoformat(moment) - now).total_seconds()))
    # The next smaller unit up to twice of a unit: "ends in 1 h" would be too little for 119 min.
    for words, unit, limit in _ENDS:
        if seconds < limit:
            return translated(language, words) % {"n": max(1, seconds // unit)}
    return translated(language, _ENDS[-1][0]) % {"n": seconds // DAY}


def since(moment: str, now: datetime, language: str | None) -> str:
    then = datetime.fromisoformat(moment)
    seconds = int((now - then).total_seconds())
    if seconds < MINUTE:
        return translated(language, _NOW)
    for words, unit, limit in _SPANS:
        if seconds < limit:
            return translated(language, words) % {"n": seconds // unit}
    return f"{then:%Y-%m-%d}"
