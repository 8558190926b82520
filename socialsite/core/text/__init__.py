"""Normalize texts that people type, and find the links and names in them.

Rendering a text as HTML belongs to `socialsite.pages.jinja`.
"""

import unicodedata

# Categories of invisible characters: controls, joiners and marks of direction, spaces and
# separators.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))


def clean(text: str) -> str:
    """Trim, convert line ends to LF, and drop control characters except line feed and tab.

    A text with only invisible characters (zero-width) becomes empty.
    """
    text = text.replace("\r\n", "\n")
    kept = [c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs")]
    if all(unicodedata.category(c) in _UNSEEN for c in kept):
        return ""
    return "".join(kept).strip()
