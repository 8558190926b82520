"""Split a long JSON list into its objects, with memory for one of them.

The objects are not parsed here, only found by their brackets and quotation marks; the caller parses
each of them, and finds what is wrong within. (The library `ijson` keeps a text of any length in
memory.)
"""

import re
from collections.abc import Iterable, Iterator

from socialsite.core.imports.kinds import UNREADABLE, Unreadable

# Bytes of an object that is kept; a longer one is yielded as None.
OBJECT_MAX = 4 * 1024 * 1024
DEPTH_MAX = 64
KEY_MAX = 64
_BOM = b"\xef\xbb\xbf"
_IN_TEXT = re.compile(rb'["\\]')
_SIGNS = re.compile(rb'["{}\[\]:]')
_BETWEEN = re.compile(rb"[^\s,]")


def objects(blocks: Iterable[bytes], key: bytes | None = None) -> Iterator[bytes | None]:
    """Yield the objects of a JSON list, or of the list under a key of a JSON object.

    Raises Unreadable if there is no such list, or it has anything else, or it does not end.
    """
    reader = _Reader(key)
    for number, block in enumerate(blocks):
        yield from reader.read(block.removeprefix(_BOM) if number == 0 else block)
        if reader.is_done:
            return
    raise Unreadable(UNREADABLE)


class _Reader:
    """The state between two blocks."""

    def __init__(self, key: bytes | None) -> None:
        self.is_done = False
        self._key = key
        self._depth = 0
        # The depth of the objects' list, 0 before it is found.
        self._list = 0
        self._in_text = self._is_escaped = False
        # The bytes of the object that is being read, None outside and if it is too long.
        self._kept: bytearray | None = None
        # The last text at depth 1, and whether it is the key of what follows.
        self._word = bytearray()
        self._is_key = False

    def read(self, block: bytes) -> Iterator[bytes | None]:
        """Yield the objects that end in the next block."""
        place = kept_from = 0
        while not self.is_done:
            if self._is_escaped and place < len(block):
                self._is_escaped = False
                place += 1
            found = self._pattern().search(block, place)
            if found is None:
                self._text(block[place:])
                break
            if self._in_text:
                self._text(block[place : found.start()])
            place = found.end()
            if self._begins(found.group()):
                kept_from = found.start()
            if self._take(found.group()):
                self._keep(block[kept_from:place])
                yield None if self._kept is None else bytes(self._kept)
                self._kept = None
        if self._is_within():
            self._keep(block[kept_from:])

    def _pattern(self) -> re.Pattern[bytes]:
        if self._in_text:
            return _IN_TEXT
        between = self._depth == 0 or (self._list and self._depth == self._list)
        return _BETWEEN if between else _SIGNS

    def _is_within(self) -> bool:
        return bool(self._list) and self._depth > self._list

    def _begins(self, sign: bytes) -> bool:
        """Begin to keep an object if it begins with this sign."""
        begins = bool(self._list) and self._depth == self._list and sign == b"{"
        if begins and not self._in_text:
            self._kept = bytearray()
        return begins

    def _keep(self, part: bytes) -> None:
        if self._kept is not None:
            self._kept += part
            if len(self._kept) > OBJECT_MAX:
                self._kept = None

    def _text(self, part: bytes) -> None:
        if self._in_text and self._depth == 1 and len(self._word) <= KEY_MAX:
            self._word += part[: KEY_MAX + 1]

    def _take(self, sign: bytes) -> bool:
        """Take the next sign; return whether it ends an object of the list."""
        if self._in_text:
            if sign == b"\\":
                self._is_escaped = True
                self._text(sign)
            else:
                self._in_text = False
        elif sign == b'"':
            self._check(self._depth > 0 and self._depth != self._list)
            self._in_text, self._word = True, bytearray()
        elif sign == b":":
            self._is_key = self._depth == 1 and bytes(self._word) == self._key
        elif sign in (b"{", b"["):
            self._open(sign)
        else:
            return self._close(sign)
        return False

    def _open(self, sign: bytes) -> None:
        if self._depth == 0:
            self._check(sign == (b"[" if self._key is None else b"{"))
        elif self._depth == self._list:
            self._check(sign == b"{")
        self._depth += 1
        self._check(self._depth <= DEPTH_MAX)
        is_list = self._depth == 1 if self._key is None else self._depth == 2 and self._is_key
        if not self._list and is_list and sign == b"[":
            self._list = self._depth
        self._is_key = False

    def _close(self, sign: bytes) -> bool:
        self._check(sign in (b"}", b"]") and self._depth > 0)
        if self._depth == self._list:
            self._check(sign == b"]")
            self.is_done = True
        self._depth -= 1
        return bool(self._list) and self._depth == self._list

    @staticmethod
    def _check(is_right: bool) -> None:
        if not is_right:
            raise Unreadable(UNREADABLE)
