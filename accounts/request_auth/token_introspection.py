"""Token introspection for other services (RFC 7662).

A token is active when the site itself would accept it now: an access token as a credential, a
refresh token for an exchange. Introspection changes nothing: it records no presence and exchanges
nothing. A reused refresh token does not end its sign-in here.
"""

from typing import Any

from accounts import cache, tokens
from accounts.actions.refreshing import GRACE_MS
from accounts.models import TokenVersion, User
from accounts.tokens import AccessToken, Principal
from socialsite.core import db
from socialsite.core.errors import BannedAccessToken, ExpiredJwt, InvalidToken


def active_claims(text: str) -> dict[str, Any] | None:
    """Return the claims of a live token, plus the person's id and name as `sub` and `username`.

    Returns None for any other text, for any reason.
    """
    try:
        token = tokens.decode_any(text)
    except (InvalidToken, ExpiredJwt):
        return None
    principal = token.principal
    lives = _access_lives if isinstance(token, AccessToken) else _refresh_lives
    if not lives(principal):
        return None
    open_accounts = User.objects.active().filter(pk=principal.user_id)
    username = open_accounts.values_list("username", flat=True).first()
    if username is None:
        return None
    return token.payload | {"sub": str(principal.user_id), "username": username}


def _access_lives(principal: Principal) -> bool:
    floors = cache.access_floors(principal.user_id, principal.client)
    return _above(principal, floors)


def _refresh_lives(principal: Principal) -> bool:
    """Return whether auth/refresh would accept it: it is current or its exchange may be retried."""
    user_id, client = principal.user_id, principal.client
    row = TokenVersion.objects.filter(user=user_id, client=client).first()
    if row is None or not _above(principal, cache.stored_floors(user_id, client, "refresh")):
        return False
    if principal.jti in (row.refresh_jti, row.previous_jti):
        return True
    return principal.jti == row.oldest_jti and db.now_ms() - row.rotated_at <= GRACE_MS


def _above(principal: Principal, floors: cache.Floors | None) -> bool:
    try:
        tokens.compare(principal, floors)
    except BannedAccessToken:
        return False
    return True
