"""Signs of emphasis beside Chinese, Japanese and Korean.

CommonMark expects spaces: no emphasis ends between `：` and a letter, or begins between a letter
and `（`. Beside Chinese, Japanese or Korean any run of signs may begin or end emphasis, as in the
amendment of CommonMark that other sites have adopted (docs/decisions/0018-markdown.md).
"""

import unicodedata

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.rules_inline.state_inline import Scanned


def scanned(found: Scanned, before: str, after: str, *, within_words: bool) -> Scanned:
    """Return what a run of signs may do that CommonMark has read, between two characters."""
    if not (_is_wide(before) or _is_wide(after)):
        return found
    begins, ends = not after.isspace(), not before.isspace()
    return Scanned(
        begins and (within_words or not ends or _is_sign(before)),
        ends and (within_words or not begins or _is_sign(after)),
        found.length,
    )


def _is_wide(character: str) -> bool:
    """Return whether a character is Chinese, Japanese or Korean, or punctuation of these."""
    return not character.isascii() and (
        unicodedata.east_asian_width(character) in "WFH" and unicodedata.category(character) != "So"
    )


def _is_sign(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
