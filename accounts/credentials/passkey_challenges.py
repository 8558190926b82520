"""Challenges that passkeys sign: random, for one purpose and one person or browser, for LIFETIME.

- A challenge is not stored. It contains its time and a hash with a key derived from SECRET_KEY, so
  the site recognizes it in the answer.
- It is used once: the budget CHALLENGE counts it, in the database.
"""

import hmac
import secrets
import time
from hashlib import sha256
from typing import Literal

from django.conf import settings

from socialsite.core.errors import PasskeyRefused
from socialsite.core.rate_limits import allowances, budgets
from socialsite.core.rate_limits.buckets import Take

Purpose = Literal["add", "log-in", "code", "prove"]

LIFETIME = 300  # seconds
NONCE_BYTES, TIME_BYTES, HASH_BYTES = 16, 8, 32
_LENGTH = NONCE_BYTES + TIME_BYTES + HASH_BYTES
_DERIVED_FOR = b"accounts.credentials.passkey_challenges "


def new(purpose: Purpose, bound_to: str) -> bytes:
    """Return a challenge; `bound_to` names the person, or the browser of a guest."""
    head = secrets.token_bytes(NONCE_BYTES) + int(time.time()).to_bytes(TIME_BYTES)
    return head + _hash(head, purpose, bound_to)


def is_valid(challenge: bytes, purpose: Purpose, bound_to: str) -> bool:
    """Return whether the site made this challenge for that, within LIFETIME."""
    if len(challenge) != _LENGTH:
        return False
    head, found = challenge[:-HASH_BYTES], challenge[-HASH_BYTES:]
    if not hmac.compare_digest(found, _hash(head, purpose, bound_to)):
        return False
    return time.time() - int.from_bytes(head[NONCE_BYTES:]) < LIFETIME


def use(challenge: bytes) -> None:
    """Note that a challenge is used. Raises PasskeyRefused if it was used before."""
    owner = sha256(challenge).hexdigest()
    instead = {budgets.CHALLENGE: PasskeyRefused()}
    allowances.spend([Take(budgets.CHALLENGE, owner)], instead)


def _hash(head: bytes, purpose: str, bound_to: str) -> bytes:
    key = hmac.digest(settings.SECRET_KEY.encode(), _DERIVED_FOR + purpose.encode(), sha256)
    return hmac.digest(key, head + bound_to.encode(), sha256)
