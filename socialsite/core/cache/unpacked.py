"""Cache of recently unpacked values, keyed by their bytes: the same values are needed often."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Unpacked(dict[int, tuple[bytes, T]], Generic[T]):
    """Values by id, each with its packed bytes; these bytes take at most `max_bytes`.

    The unpacked values take up to ten times as much memory.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self._bytes = 0

    def store(self, ident: int, packed: bytes, value: T) -> None:
        """Store a value; drop all others if they exceed the limit."""
        self._bytes += len(packed)
        if self._bytes > self.max_bytes:
            self.clear()
            self._bytes = len(packed)
        self[ident] = packed, value
