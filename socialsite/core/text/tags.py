"""The names of tags: `#tag` in any script, in one normalized form that is compared.

Upper and lower case, full width and half width, and invisible characters make no difference.
"""

import unicodedata

NAME_MAX = 50
SIGNS = "#\uff03"
# Characters of these planes are scanned for combining marks; all others have none.
_SCRIPTS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


def _class_of_marks() -> str:
    """Return the combining marks, without which many scripts have no words, as ranges."""
    ranges: list[list[int]] = []
    for code in (code for script in _SCRIPTS for code in script):
        if unicodedata.category(chr(code))[0] == "M":
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


# For a character class of `re`: letters, digits, `_`, marks, joiners, and the middle dots that
# Catalan and Japanese write within words.
WORD = rf"\w{_class_of_marks()}\u00b7\u200c\u200d\u30fb"

# Thai, Lao, Burmese, Khmer, Chinese and Japanese put no spaces between words.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30fa\u30fc-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)


def name_of(word: str) -> str | None:
    """Return the name of the tag `#word`, or None if there is no such tag.

    Both have at most NAME_MAX characters, all of `WORD`, and at least one letter. The function is
    idempotent.
    """
    name = beginning_of(word)
    return name if name is not None and any(c.isalpha() for c in name) else None


def beginning_of(word: str) -> str | None:
    """Return the normalized beginning of names, such as `2026` of `2026年`; None if it is none."""
    if len(word) > NAME_MAX:  # sorting many marks would take long
        return None
    name = _folded(word)
    # A letter and its mark become neighbours when an invisible character between them is removed.
    while (again := _folded(name)) != name:
        name = again
    if not 0 < len(name) <= NAME_MAX:
        return None
    # Some characters stand for several words, or for a fraction.
    return name if all(_is_of_word(c) for c in name) else None


def _folded(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold()
    return "".join(c for c in unicodedata.normalize("NFKC", folded) if not _is_invisible(c))


def _is_invisible(character: str) -> bool:
    """Return True for joiners and selectors of variants."""
    return unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f"


def _is_of_word(character: str) -> bool:
    return (
        character.isalnum()
        or character in "_\u00b7\u30fb"
        or unicodedata.category(character)[0] == "M"
    )
