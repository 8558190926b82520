"""The names of tags: `#tag` in any script, in one normalized form that is compared.

Upper and lower case, full width and half width, and invisible characters make no difference.
"""

import unicodedata

from socialsite.core.text import characters, folding

NAME_MAX = 50
SIGNS = "#\uff03"
# For a character class of `re`: letters, digits, `_`, marks, joiners, and the middle dots that
# Catalan and Japanese write within words.
WORD = rf"\w{characters.MARKS}\u00b7\u200c\u200d\u30fb"

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
    if len(word) > NAME_MAX:
        return None
    name = folding.caseless(word)
    if not 0 < len(name) <= NAME_MAX:
        return None
    # Some characters stand for several words, or for a fraction.
    return name if all(_is_of_word(c) for c in name) else None


def _is_of_word(character: str) -> bool:
    return (
        character.isalnum()
        or character in "_\u00b7\u30fb"
        or unicodedata.category(character)[0] == "M"
    )
