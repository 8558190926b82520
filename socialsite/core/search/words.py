"""Split texts into the words that a search compares.

Upper and lower case, full width and half width, and accents of Latin letters make no difference; an
English plural is the same word as its singular. Chinese, Japanese and other scripts without spaces
have no words here: their characters follow each other in a *run*, and a search finds a part of it.

Everything takes time and memory linear in the length of the text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b

from socialsite.core.search.plurals import singular
from socialsite.core.text import folding, tags

_WORD = re.compile(f"[{tags.WORD}]++")
_RUN = re.compile(f"[{tags.UNSPACED}]++|[^{tags.UNSPACED}]++")
_IS_RUN = re.compile(f"[{tags.UNSPACED}]")
# Texts up to this length are split once and kept in the memory of the process.
_KEPT_LENGTH, _KEPT_TEXTS = 2000, 4096


def split(text: str) -> str:
    """Return the words and runs of a text with one space before, between and after them.

    A text has a word if its split form has the word between spaces. It has a part of a run if its
    split form has that part. `needle` returns the string to search for.
    """
    return _split_kept(text) if len(text) <= _KEPT_LENGTH else _split(text)


def _split(text: str) -> str:
    parts = [part for word in _WORD.findall(folding.plain(text)) for part in _RUN.findall(word)]
    found = " ".join([part if is_run(part) else singular(part) for part in parts])
    return f" {found} " if found else " "


_split_kept = lru_cache(_KEPT_TEXTS)(_split)


def is_run(part: str) -> bool:
    """Return whether a part of a split text is a run of a script without spaces."""
    return _IS_RUN.match(part) is not None


def needle(text: str) -> str:
    """Return the string that a split text contains if it has these words one after the other.

    Empty for a text without words.
    """
    parts = split(text).split()
    if not parts:
        return ""
    before = "" if is_run(parts[0]) else " "
    after = "" if is_run(parts[-1]) else " "
    return before + " ".join(parts) + after


def terms(split_text: str) -> Iterator[str]:
    """Yield the terms of a split text: its words, and the characters and pairs of its runs."""
    for part in split_text.split():
        if is_run(part):
            yield from part
            yield from pairs(part)
        else:
            yield part


def needed_terms(found: str) -> list[str]:
    """Return terms that every text with a needle has; terms that others imply are left out."""
    needed: list[str] = []
    for part in found.split():
        needed += pairs(part) if is_run(part) and len(part) > 1 else [part]
    return list(dict.fromkeys(needed))


def pairs(text: Iterable[str]) -> list[str]:
    """Return the pairs of neighbouring characters of a text."""
    whole = "".join(text)
    return [whole[start : start + 2] for start in range(len(whole) - 1)]


@lru_cache(65536)
def number(term: str) -> int:
    """Return the number of a term in an index, 63 bits.

    Two terms may have the same number: callers compare the objects found with the words themselves.
    """
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
