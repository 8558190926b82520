"""Time-ordered 63-bit ids of 19 decimal digits.

Layout: milliseconds since 2010-01-01 UTC shifted left by 22 bits, plus 22 low bits that start at a
random value in each millisecond and count up within it. Ids of one process strictly increase.
Nineteen digits by construction from 2017 to 2079, so that as text they sort as numbers.
"""

import secrets
import threading
import time

EPOCH_MS = 1_262_304_000_000
LOW_BITS = 22
MIN_ID = 10**18
MAX_ID = 2**63 - 1
DIGITS = len(str(MAX_ID))

_lock = threading.Lock()
_last = 0


def new_id() -> int:
    """Return a new id, larger than every id this process made before."""
    global _last
    with _lock:
        now = (time.time_ns() // 1_000_000 - EPOCH_MS) << LOW_BITS
        # The top bit of the random part stays free, so that counting up has room.
        fresh = now | secrets.randbits(LOW_BITS - 1)
        _last = fresh if fresh >> LOW_BITS > _last >> LOW_BITS else _last + 1
        return _last


def number_of(text: str) -> int | None:
    """Return the number that a text has in ASCII digits, at most MAX_ID; None for another text."""
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS):
        return None
    number = int(text)
    return number if number <= MAX_ID else None


def first_of(ms: int) -> int:
    """Return the lowest id that can be made at a Unix time in ms."""
    return (ms - EPOCH_MS) << LOW_BITS


def ms_of(value: int) -> int:
    """Return the Unix time in ms at which an id was made."""
    return (value >> LOW_BITS) + EPOCH_MS
