"""The one limit of waits for what must happen, and the one loop that polls.

A limit only ends a test that hangs: how long something takes says how busy the machine is. So it
is generous, and no test has a shorter one of its own, unless the time-out is its subject.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

LIMIT = 60.0
LIMIT_MS = 60_000
PAUSE = 0.05

T = TypeVar("T")


def eventually(
    read: Callable[[], T], holds: Callable[[T], object] = bool, *, seconds: float = LIMIT
) -> T:
    """Return the first value that `holds`; fail with the last value if there is none in time."""
    end = time.monotonic() + seconds
    while not holds(found := read()):
        if time.monotonic() > end:
            pytest.fail(f"did not come true within {seconds:.0f} s; the last value was {found!r}")
        time.sleep(PAUSE)
    return found
