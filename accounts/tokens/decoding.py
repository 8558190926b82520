"""Decoding: the claims of a token with a right signature whose time is not over.

- Every invalid token raises InvalidToken; ExpiredJwt is for a valid token whose time is over.
- A process may cache the claims of an access token, as they never change. Revocation is checked on
  every request (`accounts.tokens.floors`).
"""

import functools
import time
from typing import TypeVar

from rest_framework_simplejwt.exceptions import TokenError

from accounts.tokens.claims import AccessToken, Principal, RefreshToken, SiteToken
from accounts.tokens.keys import KeyRing, key_ring
from socialsite.core.errors import ExpiredJwt, InvalidToken

MAX_LENGTH = 4096
# Access tokens whose claims a process caches; each takes about a kilobyte.
REMEMBERED = 4096

Kind = TypeVar("Kind", bound=SiteToken)


def decode_access(token: str) -> Principal:
    """Decode an access token; does not check revocation. Raises InvalidToken or ExpiredJwt."""
    return _in_time(_remembered(key_ring(), token))


def decode_refresh(token: str) -> Principal:
    """Decode a refresh token; does not check revocation. Raises InvalidToken or ExpiredJwt."""
    return _in_time(_read(RefreshToken, token).principal)


def decode_any(token: str) -> AccessToken | RefreshToken:
    """Decode a token of either kind. Raises InvalidToken or ExpiredJwt, as above."""
    found: AccessToken | RefreshToken
    try:
        found = _read(AccessToken, token)
    except InvalidToken:
        found = _read(RefreshToken, token)
    _in_time(found.principal)
    return found


def _read(kind: type[Kind], token: str) -> Kind:
    if len(token) > MAX_LENGTH:
        raise InvalidToken
    try:
        return kind(token)  # type: ignore[arg-type]  # simplejwt's annotation is wrong
    except TokenError:
        raise InvalidToken from None


@functools.lru_cache(REMEMBERED)
def _remembered(ring: KeyRing, token: str) -> Principal:
    return _read(AccessToken, token).principal


def _in_time(principal: Principal) -> Principal:
    if principal.expires <= time.time():
        raise ExpiredJwt
    return principal
