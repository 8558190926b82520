"""Password hashing with bounded concurrency: one Argon2 hash takes 100 MiB and 0.2 s of a core.

Never call it inside a transaction. Raises Unavailable when the wait for a slot would be too long.
"""

import functools
import os
import secrets
import threading
from contextlib import AbstractContextManager

from django.contrib.auth.hashers import check_password, get_hasher, make_password

from accounts.credentials import password_rules
from accounts.models import SignUpRequest, User
from socialsite.core.runtime import concurrency

CONCURRENT_HASHES = max(2, os.cpu_count() or 2)
WAIT_SECONDS = 10

_slots = threading.BoundedSemaphore(CONCURRENT_HASHES)


def _slot() -> AbstractContextManager[None]:
    return concurrency.worker(concurrency.PASSWORD, _slots, WAIT_SECONDS)


def hash_password(raw: str) -> str:
    """Return the hash to store."""
    with _slot():
        return make_password(password_rules.normal(raw))


def is_right(user: User | SignUpRequest | None, raw: str) -> bool:
    """Check a password; costs the same for an unknown person (T14)."""
    with _slot():
        nobody = _hash_of_nobody(get_hasher().algorithm)
        matches = check_password(
            password_rules.normal(raw), nobody if user is None else user.password
        )
    return matches and user is not None


@functools.cache
def _hash_of_nobody(algorithm: str) -> str:
    """Return a hash that no password matches, computed on the first check of any person."""
    return make_password(secrets.token_urlsafe(32))
