"""Minting: a new pair of an access token and a refresh token.

A refresh token can be computed again byte for byte from its `TokenId`, since no algorithm here
signs with random numbers.
"""

import time
from typing import NamedTuple
from uuid import uuid4

from accounts.models import User
from accounts.tokens.claims import AccessToken, RefreshToken, TokenId


class TokenPair(NamedTuple):
    """The tokens issued by sign-in and refresh."""

    access: str
    refresh: str


def new_token_id(batch: int) -> TokenId:
    """Return the id of a token issued now."""
    return TokenId(uuid4().hex, int(time.time()), batch)


def mint(user: User, client: str, version: int, batch: int, refresh: TokenId) -> TokenPair:
    """Return a pair: an access token with the person's roles, and the refresh token with an id."""
    access = AccessToken.make(user.pk, client, version, new_token_id(batch))
    access["rol"] = user.roles
    return TokenPair(str(access), str(RefreshToken.make(user.pk, client, version, refresh)))
