"""Cut texts between visible characters, never within a flag or between a letter and its marks."""

from wcwidth import grapheme_boundary_before

# A visible character of more parts than this may be cut.
PARTS_MAX = 64
# Two of them are a flag, so where a row of them begins decides where it may be cut.
_FLAGS = ("\U0001f1e6", "\U0001f1ff")


def cut(text: str, most: int) -> str:
    """Return the first `most` characters of a text, or a few less."""
    if len(text) <= most:
        return text
    start = max(most - PARTS_MAX, 0)
    if _FLAGS[0] <= text[start] <= _FLAGS[1]:
        start = 0
    end = start + grapheme_boundary_before(text[start : most + 1], most + 1 - start)
    return text[: end if end > start else most]


def shortened(text: str, most: int) -> str:
    """Return a text, or its beginning and `…`; at most `most` characters."""
    return text if len(text) <= most else f"{cut(text, most - 1).rstrip()}…"
