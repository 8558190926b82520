"""Bring texts into the forms in which they are compared.

Canonically equivalent texts, and those that differ in case, width or invisible characters, have one
form. Each form of a form is itself. Time and memory are linear in the length of the text: more than
MARKS_MAX marks in a row, which take long to sort, are cut off.
"""

import re
import unicodedata
from functools import partial
from typing import TYPE_CHECKING

from socialsite.core.text import characters

if TYPE_CHECKING:
    from collections.abc import Callable

MARKS_MAX = 30
_MARK = re.compile(f"[{characters.MARKS}]")
_TOO_MANY_MARKS = re.compile(f"([{characters.MARKS}]{{{MARKS_MAX}}})[{characters.MARKS}]++")
# Private characters have no meaning; a surrogate is half of a character.
_INVISIBLE = ("Cc", "Cf", "Cs", "Co")
_SECOND_PLANE, _WITHOUT_LETTERS = 0x10000, ("Cn", "Co", "Cs")
_EMPTY = re.compile(f"[{characters.EMPTY}]")
# They look like a space: fillers of Hangul, and an empty Braille pattern.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"
# Greek writes it below a letter as a mark and beside it as a letter.
_IOTA_BELOW = "\u0345"
_ACCENT = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_composed = partial(unicodedata.normalize, "NFC")


class _Table(dict[int, str]):
    """The forms of characters; those of the first plane are kept after their first use.

    Only hostile texts have many of the million others.
    """

    def __init__(self, form: "Callable[[str], str]") -> None:
        super().__init__()
        self._form = form

    def __missing__(self, code: int) -> str:
        form = self._form(chr(code))
        if code < _SECOND_PLANE and unicodedata.category(chr(code)) not in _WITHOUT_LETTERS:
            self[code] = form  # every thread computes the same, so no lock is needed
        return form


def _caseless(character: str) -> str:
    if character.isspace() or character in _BLANK:
        return " "
    if unicodedata.category(character) in _INVISIBLE or _EMPTY.match(character):
        return ""
    parts = unicodedata.normalize("NFKD", character).replace(_IOTA_BELOW, "")
    return unicodedata.normalize("NFKD", parts.casefold())


def _without_accents(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    is_latin = unicodedata.name(parts[0], "").startswith("LATIN")
    return _ACCENT.sub("", parts if is_latin else character)


_CASELESS, _PLAIN = _Table(_caseless), _Table(_without_accents)


def caseless(text: str) -> str:
    """Return a text without differences of case, width and invisible characters, in NFC."""
    return _composed(_parts(text))


def plain(text: str) -> str:
    """Return the same without the accents of Latin letters, and without loose accents.

    Accents that make another letter of another script stay, such as that of `й`.
    """
    parts = _parts(text)
    folded = _composed(parts)
    return _composed(folded.translate(_PLAIN)) if _ACCENT.search(parts) else folded


def _parts(text: str) -> str:
    """Return the letters and marks of a text without differences of case and width."""
    parts = text.translate(_CASELESS)
    # Too many marks in a row are on one of these places. To look at all of them takes ten times as
    # long as everything else here.
    if not parts.isascii() and _MARK.search(parts[:: MARKS_MAX + 1]):
        return _TOO_MANY_MARKS.sub(r"\1", parts)
    return parts
