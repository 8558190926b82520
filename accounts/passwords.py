"""Hashing, bounded: one Argon2 hash takes 100 MiB and 0.2 s of a core.

Never inside a transaction. A caller that would wait too long for its turn is told Unavailable.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import check_password, make_password

from accounts.models import User
from socialsite.core.errors import Unavailable

CONCURRENT_HASHES = max(2, os.cpu_count() or 2)
WAIT_SECONDS = 10

_slots = threading.BoundedSemaphore(CONCURRENT_HASHES)


@contextmanager
def _slot() -> Iterator[None]:
    if not _slots.acquire(timeout=WAIT_SECONDS):
        raise Unavailable(retry_after=WAIT_SECONDS)
    try:
        yield
    finally:
        _slots.release()


def hash_password(raw: str) -> str:
    """Return the hash to store."""
    with _slot():
        return make_password(raw)


def is_right(user: User | None, raw: str) -> bool:
    """Check a password; the same work for nobody as for somebody (T14)."""
    with _slot():
        if user is None:
            make_password(raw)
            return False
        return check_password(raw, user.password)
