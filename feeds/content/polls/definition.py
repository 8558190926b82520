"""The rules for the poll of a post: its options, its end, and how it is stored and shown.

A draft keeps a poll as it was given, complete or not. A post has its definition, which never
changes: the options in their order, whether people may choose several, and the time of its end.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from time import time
from typing import Any, TypedDict

from django.utils.translation import gettext as _

from socialsite.core.errors import Text
from socialsite.core.text import folding, one_line
from socialsite.core.times import iso

OPTIONS_MIN, OPTIONS_MAX, OPTION_MAX = 2, 8, 80
_MS = timedelta(milliseconds=1)
# How long a poll lasts, in ms.
SHORTEST, LONGEST = timedelta(minutes=5) // _MS, timedelta(days=30) // _MS


class Given(TypedDict):
    """A poll as its author gives it. It ends at `ends_at` (Unix ms), or `lasts` so many seconds.

    One of the two is None. A draft may have neither.
    """

    options: list[str]
    multiple: bool
    ends_at: int | None
    lasts: int | None


class Definition(TypedDict):
    """The stored poll of a post; `ends_at` in Unix ms."""

    options: list[str]
    multiple: bool
    ends_at: int


class Option(TypedDict):
    """An option and its votes, None while the reader does not see them."""

    text: str
    votes: int | None


class Poll(TypedDict):
    """The poll of a post as a reader sees it.

    `votes` is the number of people who voted, `voted` the indexes of the reader's options.
    """

    options: list[Option]
    votes: int
    voted: list[int]
    multiple: bool
    ends_at: str
    closed: bool


def tidy(given: Given) -> Given:
    """Return the poll with clean options, each in one line."""
    return Given(**{**given, "options": [one_line(one) for one in given["options"]]})


def flaws(given: Given, now: int, *, whole: bool) -> list[Text]:
    """Return the mistakes of a tidy poll of a post that is published at `now`, in Unix ms.

    A draft may be incomplete: not `whole`.
    """
    options, wrong = given["options"], list[Text]()
    if len(options) > OPTIONS_MAX or (whole and len(options) < OPTIONS_MIN):
        limits = {"least": OPTIONS_MIN, "most": OPTIONS_MAX}
        wrong.append(_("A poll has %(least)s to %(most)s options.") % limits)
    if whole and not all(options):
        wrong.append(_("An option needs a text."))
    if any(len(option) > OPTION_MAX for option in options):
        wrong.append(_("An option has at most %(limit)s characters.") % {"limit": OPTION_MAX})
    elif len(set(map(_folded, options))) < len(options):
        wrong.append(_("Two options are the same."))
    end = _end(given, now)
    if end is None and whole:
        wrong.append(_("A poll needs an end."))
    elif end is not None and not SHORTEST <= end - now <= LONGEST:
        wrong.append(_("A poll lasts from 5 minutes to 30 days."))
    return wrong


def definition_of(given: Given, now: int) -> Definition:
    """Return the stored form of a tidy poll without flaws."""
    return Definition(
        options=given["options"], multiple=given["multiple"], ends_at=_end(given, now) or 0
    )


def given_again(poll: Definition, published: int) -> Given:
    """Return the poll of a post as a draft keeps it: it lasts as long as before."""
    return Given(
        options=poll["options"],
        multiple=poll["multiple"],
        ends_at=None,
        lasts=(poll["ends_at"] - published) // 1000,
    )


def _end(given: Given, now: int) -> int | None:
    return given["ends_at"] if given["lasts"] is None else now + given["lasts"] * 1000


def _folded(option: str) -> str:
    """Return the form of an option in which options that look the same are equal."""
    return folding.caseless(option).strip()


# --- what readers see ---------------------------------------------------------------------------
def shown(poll: Mapping[str, Any] | None) -> Poll | None:
    """Return the parts of a poll that are the same for every reader."""
    if poll is None:
        return None
    return Poll(
        options=[Option(text=text, votes=None) for text in poll["options"]],
        votes=0,
        voted=[],
        multiple=poll["multiple"],
        ends_at=iso(poll["ends_at"]),
        closed=False,
    )


def for_reader(poll: Poll) -> Poll:
    """Return a copy that may be filled in, closed if its end is past."""
    made = poll.copy()
    made["options"] = [option.copy() for option in poll["options"]]
    made["closed"] = time() >= datetime.fromisoformat(poll["ends_at"]).timestamp()
    return made


def fill(poll: Poll, people: int, votes: Sequence[int], voted: list[int], *, mine: bool) -> None:
    """Fill in the votes of each option and the choice of the reader, in place.

    Readers see the votes of the options once they voted or the poll is closed, the author always.
    """
    poll["votes"], poll["voted"] = people, voted
    if voted or mine or poll["closed"]:
        for option, number in zip(poll["options"], votes, strict=False):
            option["votes"] = number
