"""The comparison of a token with its floors: a token at or below a floor is revoked.

The floors themselves are rows of `accounts.models`, and `accounts.cache` caches them.
"""

from accounts.cache import Floors
from accounts.tokens.claims import Principal
from socialsite.core.errors import BannedAccessToken


def compare(principal: Principal, floors: Floors | None) -> None:
    """Raise BannedAccessToken when the token is at or below a floor: batch, then version.

    `floors` is None for an unknown client, which raises too.
    """
    if floors is None or principal.batch <= floors.batch or principal.version <= floors.version:
        raise BannedAccessToken
