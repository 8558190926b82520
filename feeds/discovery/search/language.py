"""The language of searches: words, "phrases", -without, #tags and filters.

- Words and phrases must all be in a post, in any order. A word of a script with spaces is a whole
  word, singular or plural; Chinese and Japanese characters are found anywhere.
- `"…"`, also with Chinese quotation marks, keeps words together and in order.
- `-` before a word, phrase, tag, `from:` or `has:` excludes the posts that have it.
- `#tag` is a tag, `from:name` the author's username, `has:image` a picture.
- `before:2026-01-31` and `after:2026-01-31` are days in UTC: earlier than that day; that day or
  later.

Full-width letters and punctuation are the same as half-width ones. Chinese commas and full stops
separate words as spaces do. Reading a question takes time linear in its length.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from socialsite.core.errors import InvalidInput
from socialsite.core.positions import MAX_TS_MS
from socialsite.core.search import words
from socialsite.core.text import folding
from socialsite.core.text.spans import tag_of, without_at

LENGTH_MAX, PARTS_MAX = 200, 12

_OPEN = {'"': '"', "\u201c": "\u201d", "\u300c": "\u300d", "\u300e": "\u300f", "\u00ab": "\u00bb"}
_QUOTES = "".join(dict.fromkeys([*_OPEN, *_OPEN.values()]))
# Full-width signs, and the minus signs that keyboards and phones put for a hyphen. Chinese commas
# and full stops are between words.
_PLAIN = str.maketrans(
    "\uff02\uff03\uff0d\u2212\u2013\uff1a\u3000\uff20\ufe63\uff0c\u3001\uff1b\u3002\uff01\uff1f",
    '"#---: @-      ',
    "\x00\u200b\ufeff",
)
_PART = re.compile(
    rf"""
      (?P<minus> -? )
      (?: (?P<open> [{_QUOTES}] ) (?P<phrase> [^{_QUOTES}]*+ ) (?: [{_QUOTES}] | \Z )
        | (?P<word> [^\s{_QUOTES}]++ ) )
    """,
    re.VERBOSE,
)
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)


@dataclass
class Terms:
    """Terms that a post must have, or must not have. A needle is a word or phrase."""

    needles: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    image: bool = False


@dataclass
class Question:
    """A parsed question; times are Unix ms, `since` is included and `until` is not."""

    wanted: Terms = field(default_factory=Terms)
    unwanted: Terms = field(default_factory=Terms)
    since: int = 0
    until: int = MAX_TS_MS


def parse(text: str) -> Question:
    """Parse a question.

    Raises InvalidInput (`q`) if it is too long, has a bad date or filter, or wants no word, phrase,
    tag, author or picture.
    """
    if len(text) > LENGTH_MAX:
        raise _wrong(_("At most %(limit)s characters.") % {"limit": LENGTH_MAX})
    found = Question()
    for number, part in enumerate(_PART.finditer(text.translate(_PLAIN))):
        if number == PARTS_MAX:
            raise _wrong(_("At most %(limit)s words and filters.") % {"limit": PARTS_MAX})
        _read(found, part)
    wanted = found.wanted
    if not (wanted.needles or wanted.tags or wanted.authors or wanted.image):
        raise _wrong(_("Enter a search term."))
    return found


def _read(found: Question, part: re.Match[str]) -> None:
    side = found.unwanted if part["minus"] else found.wanted
    if part["word"] is None:
        _add_words(side, part["phrase"])
        return
    word = part["word"]
    name, colon, value = word.partition(":")
    name = name.lower()
    if colon and name in ("before", "after") and not part["minus"]:
        day = _day(name, value)
        if name == "before":
            found.until = min(found.until, day)
        else:
            found.since = max(found.since, day)
    elif colon and name == "from":
        author = folding.plain(without_at(value)).strip()
        if not author:
            raise _wrong(_("Write a username after from:, as in from:alice."))
        side.authors.append(author)
    elif colon and name == "has":
        if folding.plain(value) not in ("image", "images"):
            raise _wrong(_("Only has:image can be searched."))
        side.image = True
    elif word.startswith("#") and (tag := tag_of(word)) is not None:
        side.tags.append(tag)
    else:
        _add_words(side, word)


def _add_words(side: Terms, text: str) -> None:
    if (found := words.needle(text)) and found not in side.needles:
        side.needles.append(found)


def _day(name: str, value: str) -> int:
    """Return the beginning of a day in Unix ms; raises InvalidInput."""
    match = _DAY.fullmatch(folding.plain(value).strip())
    try:
        if match is None:
            raise ValueError
        day = datetime(*(int(one) for one in match.groups()), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        text = _("Write a day after %(name)s:, as in %(name)s:2026-01-31.") % {"name": name}
        raise _wrong(text) from None
    return max(0, int(day.timestamp() * 1000))


def _wrong(message: str) -> InvalidInput:
    return InvalidInput(fields={"q": [message]})
