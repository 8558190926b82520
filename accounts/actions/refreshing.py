"""Exchange of refresh tokens; the reuse of an old one ends the sign-in."""

import logging

from django.utils import timezone

from accounts import cache, tokens
from accounts.actions.presence import touch
from accounts.actions.revocation import locked_batch, revoke_version
from accounts.models import TokenBatch, TokenVersion, User
from accounts.tokens import Principal, TokenId, TokenPair
from socialsite.core import db
from socialsite.core.errors import BannedRefreshToken

logger = logging.getLogger(__name__)

# How long after the first use of a new refresh token the token before it may still be exchanged.
GRACE_MS = 10_000


def refresh(refresh_token: str) -> tuple[User, TokenPair]:
    """Exchange a refresh token for a new pair with the current batch and roles (T4, T5).

    The previous refresh token gets the same successor again, until ten seconds after the successor
    was first used. An older one ends the sign-in of its client (T15).
    Raises InvalidToken, ExpiredJwt or BannedRefreshToken.
    """
    principal = tokens.decode_refresh(refresh_token)
    found = _rotate(principal)
    if found is None:
        with cache.fenced(principal.user_id):
            _end_reused(principal)
        raise BannedRefreshToken
    return found


@db.atomic
def _rotate(principal: Principal) -> tuple[User, TokenPair] | None:
    """Validate and mint under the lock; None when the token was reused."""
    user, batch, row = _locked_sign_in(principal)
    current = TokenId(row.refresh_jti, row.refresh_iat, row.refresh_bat)
    now = db.now_ms()
    if principal.jti == row.refresh_jti:
        successor = tokens.new_token_id(batch.batch)
        row.oldest_jti = row.previous_jti
        row.previous_jti, row.previous_iat, row.previous_bat = current
        row.refresh_jti, row.refresh_iat, row.refresh_bat = successor
        row.rotated_at = now
        touch(user.pk, row.client, row.last_seen)
        row.last_seen = timezone.now()
        row.store()
    elif principal.jti == row.previous_jti:
        successor = current
    elif principal.jti == row.oldest_jti and now - row.rotated_at <= GRACE_MS:
        successor = TokenId(row.previous_jti, row.previous_iat, row.previous_bat)
    else:
        return None
    return user, tokens.mint(user, row.client, row.version, batch.batch, successor)


@db.atomic
def _end_reused(principal: Principal) -> None:
    try:
        _user, _batch, row = _locked_sign_in(principal)
    except BannedRefreshToken:
        return
    logger.warning("refresh token reused: user %s client %s", row.user_id, row.client)
    revoke_version(row, "reuse")


def _locked_sign_in(principal: Principal) -> tuple[User, TokenBatch, TokenVersion]:
    """Lock the rows of a refresh token. Raises BannedRefreshToken at or below a floor."""
    user = User.objects.filter(pk=principal.user_id).first()
    if user is None:
        raise BannedRefreshToken
    batch = locked_batch(user)
    rows = TokenVersion.objects.filter(user=user, client=principal.client)
    row = rows.first()
    # Roles and ban as of the lock: every act that changes them revokes under it.
    user.refresh_from_db()
    if (
        not user.is_active
        or row is None
        or principal.batch <= batch.refresh_floor
        or principal.version <= row.refresh_floor
    ):
        raise BannedRefreshToken
    return user, batch, row
