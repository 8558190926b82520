"""Memory use of a serving process, and its return to the system after large requests.

By default glibc keeps freed memory for later use. Its heaps, one for each of many threads, use ever
larger blocks: after a few large pictures a process stayed 380 MB larger. With these settings it
stays 5 MB larger. The C libraries of other systems (musl, macOS) need none of this.
"""

import ctypes
import gc
from typing import Any

# Option numbers of mallopt(3).
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
# Larger blocks come from the system and return to it when freed.
LARGE_BLOCK = 1024 * 1024
HEAPS = 4
# New objects between two collections of garbage. A page makes thousands of objects.
NEW_OBJECTS = 5_000

_libc: Any = ctypes.CDLL(None)
_mallopt = getattr(_libc, "mallopt", None)
_malloc_trim = getattr(_libc, "malloc_trim", None)


def tune() -> None:
    """Bound the memory that the heaps keep.

    Call it in a serving process before its threads start.
    """
    if _mallopt is not None:
        _mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        _mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK)
        _mallopt(M_ARENA_MAX, HEAPS)


def settle() -> None:
    """Exempt what is loaded from the collection of garbage, and return what loading left behind.

    Call it in a serving process once the site is loaded. Else every full collection visits 160,000
    objects that never become garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    release()


def release() -> None:
    """Return the free parts of the heaps to the system; takes a few milliseconds."""
    if _malloc_trim is not None:
        _malloc_trim(0)
