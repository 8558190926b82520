"""How a serving process takes memory, and gives it back after large requests.

By itself glibc keeps what was freed for later: its heaps, one for each of many threads, take ever
larger blocks, so after a few large pictures a process stayed 380 MB larger than before, and now
stays 5 MB larger. The C libraries of other systems (musl, macOS) have none of this.
"""

import ctypes
from typing import Any

# Names and numbers of mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
# Blocks from this size on come from the system and go back to it when they are freed.
LARGE_BLOCK = 1024 * 1024
HEAPS = 4

_libc: Any = ctypes.CDLL(None)
_mallopt = getattr(_libc, "mallopt", None)
_malloc_trim = getattr(_libc, "malloc_trim", None)


def tune() -> None:
    """Bound what the heaps keep; for a process that begins to serve, before its threads start."""
    if _mallopt is not None:
        _mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        _mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK)
        _mallopt(M_ARENA_MAX, HEAPS)


def give_back() -> None:
    """Give the free parts of the heaps to the system; takes a few milliseconds."""
    if _malloc_trim is not None:
        _malloc_trim(0)
