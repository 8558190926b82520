"""Texts that people type."""

import unicodedata


def clean(text: str) -> str:
    """Trim, end lines in LF, and keep of control characters only line feed and tab."""
    text = text.replace("\r\n", "\n").strip()
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
