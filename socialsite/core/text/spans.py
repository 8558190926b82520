"""Find the addresses, names and tags in a text that a person typed.

Links, notifications and the cut of long texts use the same spans.

- Time and memory grow linearly with the length of the text, for any text. In the pattern below
  every repetition is possessive or bounded, and an alternative that begins with a repetition checks
  the character before it, so it starts only once in a run of characters. Libraries that find links
  are not linear (docs/decisions/0010-links-in-texts.md).
- An address ends before white space, `<`, `>`, `"` and Chinese punctuation. Punctuation at the end
  is not part of it, nor is a closing bracket that the address does not open.
- A name stands alone: `a@bob1`, `@bob1@elsewhere`, `@bob_1` and text inside an address are no
  names. Whether a person has that name is not checked here.
- A tag is `#` and a word, or `#word#` as Chinese writers close it. It begins neither behind `&` or
  `/` nor in a word, except in scripts that put no spaces between words.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from socialsite.core.text import tags


class Kind(Enum):
    """The kind of a span."""

    ADDRESS = "address"  # begins with http:// or https://
    BARE = "bare"  # an address that begins with www.
    MAIL = "mail"
    NAME = "name"  # @username
    TAG = "tag"  # #tag


class Span(NamedTuple):
    """A part of a text, `text[start:end]`, that is not plain words."""

    start: int
    end: int
    kind: Kind


_OUTSIDE = (
    r'\s<>"'
    "\u2018\u2019\u201c\u201d\u2026"  # quotation marks, ellipsis
    "\u3001-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_SIGNS = re.escape(tags.SIGNS)
# Usernames are those of `accounts.validators`.
_FOUND = re.compile(
    rf"""
      (?P<address> [hH][tT][tT][pP][sS]?:// [^{_OUTSIDE}]+ )
    | (?P<bare> (?<![A-Za-z0-9_@/.:%+-]) (?: [wW]ww | WWW ) \. [^{_OUTSIDE}]+ )
    | (?P<mail> (?<![A-Za-z0-9_@/.+-]) [A-Za-z0-9_+-]++ (?: \.[A-Za-z0-9_+-]++ )*+
        @ (?: [A-Za-z0-9-]++\. )+ [A-Za-z]{{2,63}}+ (?![A-Za-z0-9_@-]) )
    | (?P<name> (?<![A-Za-z0-9_@/]) @[A-Za-z0-9]{{4,16}} (?![A-Za-z0-9_@]) )
    | (?P<tag> (?: (?<![{tags.WORD}&/{_SIGNS}]) | (?<=[{tags.UNSPACED}])
          | (?<=[{tags.WORD}][{_SIGNS}]) )
        [{_SIGNS}] [{tags.WORD}]{{1,{tags.NAME_MAX}}}+ (?![{tags.WORD}]) [{_SIGNS}]? )
    """,
    re.VERBOSE,
)
_HOST = re.compile(
    r"""
    (?: https?:// | www\. )
    (?: (?: [\w%-]++\. )*+ (?: xn--[\w%]{2,59} | [a-z]{2,63} )
      | (?<=//) \d{1,3} (?: \.\d{1,3} ){3}
      | (?<=//) \[ [\da-f]{0,4} (?: :[\da-f]{0,4} ){2,7} \] )
    (?: :\d{1,5} )?+
    (?= [/?#] | \Z )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILING = ".,:;!?'"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_KINDS = {kind.value: kind for kind in Kind}
# `beginning` reads this many characters after the cut to see which span it would halve. Names, tags
# and nearly all mail addresses are shorter; for other addresses their first characters are enough.
AHEAD = 80


def is_plain(text: str) -> bool:
    """Return True if a text certainly has no span; a quick check that most texts pass."""
    has_address = "://" in text or "ww." in text or "WW." in text
    return not (has_address or "@" in text or _has_sign(text))


def spans(text: str) -> list[Span]:
    """Return the addresses, names and tags of a text in order; spans never overlap."""
    return [] if is_plain(text) else list(_spans(text))


def tag_names(text: str) -> list[str]:
    """Return the names of the tags of a text, each once, in their order."""
    if not _has_sign(text):
        return []
    found = (tag_of(text[one.start : one.end]) for one in spans(text) if one.kind is Kind.TAG)
    return list(dict.fromkeys(name for name in found if name is not None))


def tag_of(shown: str) -> str | None:
    """Return the name of a tag as somebody writes it, with or without signs; None for no tag."""
    return tags.name_of(shown.strip(tags.SIGNS))


def _has_sign(text: str) -> bool:
    return any(sign in text for sign in tags.SIGNS)


def beginning(text: str, most: int) -> str:
    """Return the first `most` characters of a text, or fewer.

    A name, a tag or an address is never cut in half. The cut never creates one either: the first
    half of a word that is too long for a name is not shown.
    """
    if len(text) <= most:
        return text
    # A span never contains white space, so only the word at the cut has to be read.
    begin = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most)) + 1
    word, end = text[begin : most + AHEAD], most - begin
    whole = spans(word)
    end = next((span.start for span in whole if span.start < end < span.end), end)
    while made := next((span for span in spans(word[:end]) if span not in whole), None):
        end = made.start
    return text[: begin + end]


def _spans(text: str) -> Iterator[Span]:
    for match in _FOUND.finditer(text):
        kind = _KINDS[str(match.lastgroup)]
        start, end = match.span()
        if kind in (Kind.ADDRESS, Kind.BARE):
            end -= _surplus(match[0])
            if _HOST.match(text, start, end) is None:
                continue
        elif kind is Kind.TAG and tag_of(match[0]) is None:
            continue
        yield Span(start, end, kind)


def _surplus(address: str) -> int:
    """Return how many characters at the end of an address do not belong to it."""
    unopened = {
        close: address.count(close) - address.count(opener) for close, opener in _BRACKETS.items()
    }
    end = len(address)
    while end:
        last = address[end - 1]
        if unopened.get(last, 0) > 0:
            unopened[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return len(address) - end
