"""Normalize texts that people type, and find the links and names in them.

Rendering a text as HTML belongs to `socialsite.pages.jinja`.
"""

import re
import unicodedata

from socialsite.core.text import characters

# Unicode's ends of lines and paragraphs. XML forbids some of them, forms send CRLF.
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# The categories Cc and Cs, without tab and line feed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Categories of invisible characters: controls, joiners and marks of direction, spaces and
# separators.
_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))
_EMPTY = re.compile(f"[{characters.EMPTY}]")


def clean(text: str) -> str:
    """Trim, convert line ends to LF, and drop control characters except line feed and tab.

    A text with only invisible characters (zero-width, fillers) becomes empty.
    """
    text = without_controls(text)
    if all(unicodedata.category(c) in _UNSEEN for c in _EMPTY.sub("", text)):
        return ""
    return text.strip()


def one_line(text: str) -> str:
    """Return a cleaned text in one line, with single spaces."""
    return " ".join(clean(text).split())


def without_controls(text: str) -> str:
    """Convert line ends to LF, and drop control characters except line feed and tab."""
    return _CONTROL.sub("", _LINE_END.sub("\n", text))
