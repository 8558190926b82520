"""Kinds of characters, as ranges for a character class of `re`.

Python's `re` has no classes for Unicode's categories, so they are computed once, at the import.
"""

import re
import unicodedata
from itertools import groupby

# Drawn as nothing, though they are letters, marks and signs: joiners and fillers of Hangul, vowels
# of Khmer, selectors of variants, an empty Braille pattern.
EMPTY = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef"
)
# From 0x20000 on there are Chinese letters, and then only tags, selectors and private characters.
_SCANNED = (range(0x20000), range(0xE0000, 0xE01F0))
_HAN = "\U00020000-\U0003ffff"


def _categories() -> dict[str, str]:
    """Return the characters of each category, such as `Lu`, as ranges.

    The names of those of `EMPTY` begin with `-`.
    """
    empty = re.compile(f"[{EMPTY}]")
    ranges: dict[str, list[str]] = {}
    for part in _SCANNED:
        first = part.start
        seen = "".join(map(chr, part))
        unseen = {match.start() + first for match in empty.finditer(seen)}
        categories = (
            "-" * (code in unseen) + unicodedata.category(one)
            for code, one in enumerate(seen, first)
        )
        for name, alike in groupby(categories):
            end = first + sum(1 for _ in alike)
            ranges.setdefault(name, []).append(f"{chr(first)}-{chr(end - 1)}")
            first = end
    return {name: "".join(found) for name, found in ranges.items()}


_RANGES = _categories()


def _of(*categories: str) -> str:
    """Return the characters whose category begins so."""
    return "".join(found for name, found in _RANGES.items() if name.startswith(categories))


LETTERS = _of("L", "-L") + _HAN
MARKS = _of("M", "-M")
VISIBLE = _of("L", "M") + _HAN  # letters and marks
DIGITS = _of("Nd")
# Controls, marks of direction, joiners, soft hyphens and everything else that nobody sees.
INVISIBLE = _of("Cc", "Cf") + EMPTY
