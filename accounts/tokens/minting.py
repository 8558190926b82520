"""Minting: a new pair of an access token and a refresh token.

A refresh token can be computed again byte for byte from its `Mark`, since no algorithm here signs
with random numbers.
"""

import time
from typing import NamedTuple
from uuid import uuid4

from accounts.models import User
from accounts.tokens.claims import AccessToken, Mark, RefreshToken


class TokenPair(NamedTuple):
    """The tokens issued by sign-in and refresh."""

    access: str
    refresh: str


def new_mark(batch: int) -> Mark:
    """Return the mark of a token issued now."""
    return Mark(uuid4().hex, int(time.time()), batch)


def mint(user: User, client: str, version: int, batch: int, refresh: Mark) -> TokenPair:
    """Return a pair: an access token with the person's roles, and the refresh token of a mark."""
    access = AccessToken.make(user.pk, client, version, new_mark(batch))
    access["rol"] = user.roles
    return TokenPair(str(access), str(RefreshToken.make(user.pk, client, version, refresh)))
