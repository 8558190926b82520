"""Texts that people type."""

import unicodedata

# Categories of what nobody sees: controls, joiners and marks of direction, spaces and separators.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))


def clean(text: str) -> str:
    """Trim, end lines in LF, and keep of control characters only line feed and tab.

    A text of which nothing can be seen (zero-width characters) is empty.
    """
    text = text.replace("\r\n", "\n")
    kept = [c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs")]
    if all(unicodedata.category(c) in _UNSEEN for c in kept):
        return ""
    return "".join(kept).strip()
