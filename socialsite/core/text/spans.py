"""Find the addresses, names and tags in a text that a person typed.

Links, notifications and the cut of long texts use the same spans.

- Time and memory grow linearly with the length of the text, for any text. In the pattern below
  every repetition is possessive or bounded, or runs over characters among which no span begins. An
  alternative that begins with a repetition checks the character before it, so it starts only once
  in a run of characters. Libraries that find links are not linear
  (docs/decisions/0010-links-in-texts.md).
- An address ends before white space, invisible characters, `<`, `>`, `"` and Chinese punctuation.
  Punctuation at the end is not part of it, nor is a closing bracket that the address does not open.
  If the host is followed by anything else than a port or a path, the address is the host.
- A name stands alone: `a@bob1`, `@bob1@elsewhere`, `@bob_1`, `@bob1.example` and text inside an
  address are no names. A letter, mark or digit of any script makes a longer word of it, except in
  scripts that are written without spaces, and in Korean, whose particles follow a name. Whether a
  person has that name is not checked here.
- A tag is `#` and a word, or `#word#` as Chinese writers close it. It begins neither behind `&` or
  `/` nor in a word, except in scripts that put no spaces between words.
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from socialsite.core.text import characters, tags
from socialsite.core.text.cuts import cut


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


# Letters beside which a name stands alone, because their scripts need no spaces: those of tags, and
# Hangul. Selectors and frames of emoji are marks, but belong to no word.
_APART = (
    f"{tags.UNSPACED}\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff\uff66-\uffdc"
    "\u20dd-\u20e4\ufe00-\ufe0f\U000e0100-\U000e01ef"
)
_AT = "@\uff20"
_SIGNS = re.escape(tags.SIGNS)
# Invisible characters that do not end a word: a word is no shorter for them.
_JOINERS = "\u00ad\u034f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff"
_WORD = f"{characters.LETTERS}{characters.MARKS}{characters.DIGITS}_\u00ad\u200c\u200d"
# Characters that continue a name to a longer word, a keycap, or the host of a mail address.
_GOES_ON = rf"[{_JOINERS}]{{0,9}} (?: [\u20dd-\u20e4] | (?![{_APART}]) [{_WORD}{_AT}] )"
_OUTSIDE = (
    rf'\s<>"{characters.INVISIBLE}'
    "\u2018\u2019\u201c\u201d\u2026"  # quotation marks, ellipsis
    "\u3001-\u3004\u3008-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
# Arabic, Indic and related letters, between which joiners belong to the spelling.
_JOINED = "\u0600-\u1fff"
_PATH = rf"""
    [^{_OUTSIDE}]*+
    (?: (?<=[{_JOINED}]) [\u200c\u200d] (?=[{_JOINED}]) [^{_OUTSIDE}]++ )*+
"""
# The last label of a host has letters of one script, so words that follow are not part of it.
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0300-\u034e\u0350-\u036f\u1e00-\u1eff"
_UNICODE_END = rf"""
    [{_LATIN}]{{2,63}}+
  | (?: (?=[{tags.UNSPACED}\uac00-\ud7a3]) [{characters.VISIBLE}] ){{2,63}}+
  | (?: (?![{_LATIN}{_APART}]) [{characters.VISIBLE}] ){{2,63}}+
"""
_HOST = rf"""
    (?> (?: (?: [{characters.VISIBLE}{characters.DIGITS}_%-]++ \. )+
              (?: [xX][nN]-- [A-Za-z0-9-]{{1,58}} [A-Za-z0-9] | {_UNICODE_END} )
          | [A-Za-z]{{2,63}}+ )
        (?! [0-9{_LATIN}] | \.\w ) )
"""
_IP = r"""
    (?: [0-9]{1,3} (?: \.[0-9]{1,3} ){3} (?! [0-9A-Za-z] | \.\w )
      | \[ [0-9A-Fa-f]{0,4} (?: :[0-9A-Fa-f]{0,4} ){2,7} \] )
"""
# Nobody sees at once where an address with a user name leads. The bound keeps the time linear.
_REST = rf"""
    (?! @ | : (?: [\w.~%!$&+=-]{{0,64}} | (?![0-9]) [^/?\#@{_OUTSIDE}]{{0,64}} ) @ )
    (?: : [0-9]{{1,5}} (?![0-9]) )?+ (?: [/?\#] {_PATH} )?+
"""
_STANDS_ALONE = rf"(?<! [_@/.:%+-] .{{4}} ) (?<! (?![{_APART}]) [{_WORD}] .{{4}} )"
# Every alternative begins with a character outside of its group: the engine skips alternatives by
# their first character. Looks at the character before it follow, those at ASCII first. Usernames
# are those of `accounts.naming.name_rules`.
_PATTERN = rf"""
      [hH] (?P<address> [tT][tT][pP][sS]?:// (?: (?: {_HOST} | {_IP} ) {_REST}
          | (?P<no_address> [^{_OUTSIDE}]++ ) ) )
    | [wW] (?P<bare> (?: ww | (?<=W)WW ) \. {_STANDS_ALONE} (?: {_HOST} {_REST}
          | (?P<no_bare> [^{_OUTSIDE}]++ ) ) )
    | [A-Za-z0-9_+-] (?<! [A-Za-z0-9_@/.+-] . ) (?P<mail> (?<! (?![{_APART}]) [{_WORD}] . )
        [A-Za-z0-9_+-]*+ (?: \.[A-Za-z0-9_+-]++ )*+
        @ (?: [A-Za-z0-9-]++\. )+ [A-Za-z]{{2,63}}+
        (?! - | {_GOES_ON} | \. (?![{_APART}A-Za-z]) [{characters.LETTERS}] ) )
    | [{_AT}] (?P<name> (?<! [{_AT}/] . ) (?<! (?![{_APART}]) [{_WORD}] . )
        [A-Za-z0-9]{{4,16}} (?! {_GOES_ON} | \. (?![{_APART}]) [{characters.LETTERS}] ) )
    | [{_SIGNS}] (?P<tag> (?: (?<![{tags.WORD}&/{_SIGNS}].) | (?<=[{tags.UNSPACED}].)
          | (?<=[{tags.WORD}][{_SIGNS}].) )
        [{tags.WORD}]{{1,{tags.NAME_MAX}}}+ (?![{tags.WORD}]) [{_SIGNS}]? )
    """
_TRAILING = ".,:;!?'"  # and all punctuation beyond ASCII
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_KINDS = {kind.value: kind for kind in Kind}
# `beginning` reads this many characters after the cut to see which span it would halve. Names, tags
# and nearly all mail addresses are shorter; for other addresses their first characters are enough.
AHEAD = 80


@cache
def _found() -> re.Pattern[str]:
    """Return the pattern. Compiling it takes 0.1 s, and few processes that start need it."""
    return re.compile(_PATTERN, re.VERBOSE | re.DOTALL)


def is_plain(text: str) -> bool:
    """Return True if a text certainly has no span; a quick check that most texts pass."""
    has_address = "://" in text or "ww." in text or "WW." in text
    return not (has_address or has_at(text) or _has_sign(text))


def has_at(text: str) -> bool:
    """Return True if a text has a sign that may begin a name."""
    return "@" in text or "\uff20" in text


def without_at(name: str) -> str:
    """Return a name that somebody typed, without the sign and the blanks around it."""
    name = name.strip()
    return name[1:] if name[:1] in tuple(_AT) else name


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
    return "#" in text or "\uff03" in text


def beginning(text: str, most: int) -> str:
    """Return the first `most` characters of a text, or fewer.

    A visible character, a name, a tag or an address is never cut in half. The cut never creates
    one either: the first half of a word that is too long for a name is not shown.
    """
    if len(text) <= most:
        return text
    # A span never contains white space, so only the word at the cut has to be read.
    begin = max(text.rfind(" ", 0, most), text.rfind("\n", 0, most)) + 1
    word, end = text[begin : most + AHEAD], max(len(cut(text, most)) - begin, 0)
    whole = spans(word)
    end = next((span.start for span in whole if span.start < end < span.end), end)
    while made := next((span for span in spans(word[:end]) if span not in whole), None):
        end = made.start
    return text[: begin + end]


def _spans(text: str) -> Iterator[Span]:
    for match in _found().finditer(text):
        kind = _KINDS[str(match.lastgroup)]
        start, end = match.span()
        if kind in (Kind.ADDRESS, Kind.BARE):
            if match["no_address"] or match["no_bare"]:
                continue
            end -= _surplus(match[0])
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
        elif not _is_trailing(last):
            break
        end -= 1
    return len(address) - end


def _is_trailing(character: str) -> bool:
    if character.isascii():
        return character in _TRAILING
    return unicodedata.category(character)[0] == "P"
