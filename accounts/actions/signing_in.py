"""Signing in, and exchanging refresh tokens."""

import logging
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import cache, queries, tokens
from accounts.actions.clients import take_place
from accounts.actions.presence import touch
from accounts.actions.revocation import fenced, locked_batch, revoke_version
from accounts.events import UserSignedIn
from accounts.models import TokenBatch, TokenVersion, User
from accounts.sign_in import devices, passwords, two_factor
from accounts.staff import addresses
from accounts.tokens import Mark, Principal, TokenPair
from socialsite.core import db
from socialsite.core.events import publish
from socialsite.core.http.errors import (
    BannedRefreshToken,
    OtpRequired,
    PasswordNotCorrected,
    UserNotFound,
)
from socialsite.core.http.errors import UserBanned as UserBannedError

logger = logging.getLogger(__name__)

GRACE_MS = 10_000


class Shown(NamedTuple):
    """Proof shown before a sign-in: the checked password's hash; whether a code was checked."""

    password: str
    code: bool


def check_password(username: str, password: str) -> User:
    """Return the person with this name and password.

    Raises PasswordNotCorrected, also for an unknown name, at the same cost (T14); with
    LOGIN_ERRORS=separate, UserNotFound for an unknown name, still at that cost. Raises UserBanned
    only when the password is right.
    """
    user = queries.any_by_name(username)
    right = passwords.is_right(user, password)
    separate = settings.LOGIN_ERRORS == "separate"
    if user is None or user.deleted_at:
        raise UserNotFound(_("There is nobody of this name.")) if separate else PasswordNotCorrected
    if not right:
        raise PasswordNotCorrected(_("The password is wrong.") if separate else None)
    if user.banned_at:
        raise UserBannedError
    return user


@fenced
def sign_in(
    user: User,
    client: str = "other",
    user_agent: str = "",
    address: str = "",
    shown: Shown | None = None,
) -> TokenPair:
    """Issue a pair for a client; sign-ins that may not coexist with it end.

    The proof in `shown` must still be valid under the lock: a log-in that began with the old
    password fails after its change, like a refresh (T5). Raises PasswordNotCorrected, OtpRequired
    or UserBanned for changes in the meantime.
    """
    batch = locked_batch(user)
    row = take_place(batch, client, devices.name_of(client, user_agent))
    current = User.objects.get(pk=user.pk)
    if current.banned_at:
        raise UserBannedError
    if current.deleted_at or (shown and shown.password != current.password):
        raise PasswordNotCorrected
    if shown and not shown.code and two_factor.is_on(current):
        raise OtpRequired
    row.user_agent = user_agent[: TokenVersion.USER_AGENT_MAX]
    row.address, row.address_at = addresses.stored(address)
    publish(UserSignedIn(user.pk, client))
    return issue(current, batch, row)


def issue(user: User, batch: TokenBatch, row: TokenVersion) -> TokenPair:
    """Activate a new refresh token of a client and return the pair. The caller holds the lock."""
    mark = tokens.new_mark(batch.batch)
    row.refresh_jti, row.refresh_iat, row.refresh_bat = mark
    row.previous_jti = row.oldest_jti = ""
    row.rotated_at = db.now_ms()
    row.last_seen = timezone.now()
    row.save()
    return tokens.mint(user, row.client, row.version, batch.batch, mark)


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
    current = Mark(row.refresh_jti, row.refresh_iat, row.refresh_bat)
    now = db.now_ms()
    if principal.jti == row.refresh_jti:
        successor = tokens.new_mark(batch.batch)
        row.oldest_jti = row.previous_jti
        row.previous_jti, row.previous_iat, row.previous_bat = current
        row.refresh_jti, row.refresh_iat, row.refresh_bat = successor
        row.rotated_at = now
        touch(user.pk, row.client, row.last_seen)
        row.last_seen = timezone.now()
        row.save()
    elif principal.jti == row.previous_jti:
        successor = current
    elif principal.jti == row.oldest_jti and now - row.rotated_at <= GRACE_MS:
        successor = Mark(row.previous_jti, row.previous_iat, row.previous_bat)
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
