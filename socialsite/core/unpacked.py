"""What a process unpacked last, beside its bytes: the same facts are asked for often."""

from typing import Generic, TypeVar

T = TypeVar("T")


class Unpacked(dict[int, tuple[bytes, T]], Generic[T]):
    """Values by id, each with its packed bytes, as many as `max_bytes` of these have room for.

    The values take up to ten times as much memory.
    """

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self._bytes = 0

    def keep(self, ident: int, packed: bytes, value: T) -> None:
        """Keep a value, and forget all others when they were too many."""
        self._bytes += len(packed)
        if self._bytes > self.max_bytes:
            self.clear()
            self._bytes = len(packed)
        self[ident] = packed, value
