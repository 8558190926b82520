"""Writes of people and their sign-ins (A4-A14, T1-T8).

- Every change of a person's tokens happens under the lock of that person's TokenBatch row, so
  logins, refreshes and revocations of one person come one after the other.
- To revoke: floor := current, current += 1. What is issued afterwards lives (T1).
- `@_fenced` actions send readers to MySQL before they commit; call them outside of transactions.
"""

import functools
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Concatenate, ParamSpec, TypeVar

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import cache, passwords, queries, rules, sockets, tokens
from accounts.events import (
    ProfileChanged,
    RolesChanged,
    TokensRevoked,
    UserBanned,
    UserRegistered,
    UserSignedIn,
    UserUnbanned,
)
from accounts.models import TokenBatch, TokenVersion, User
from accounts.tokens import Mark, Principal, TokenPair
from socialsite.core import db, media
from socialsite.core.errors import (
    BannedRefreshToken,
    DuplicatedUser,
    InvalidInput,
    PasswordNotCorrected,
)
from socialsite.core.errors import UserBanned as UserBannedError
from socialsite.core.events import publish

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

SEEN_EVERY = timedelta(minutes=5)
GRACE_MS = 10_000
BIO_MAX = 200


def _fenced(
    function: Callable[Concatenate[User, P], R],
) -> Callable[Concatenate[User, P], R]:
    """Fence the person's cached floors, then run the action in one transaction."""

    @functools.wraps(function)
    def run(user: User, /, *args: P.args, **kwargs: P.kwargs) -> R:
        cache.fence(user.pk)
        return db.atomic(function)(user, *args, **kwargs)

    return run


# --- people -------------------------------------------------------------------------------------
def register(
    username: str, nickname: str, password: str, email: str = "", *, password_hash: str = ""
) -> User:
    """Make an account; raises RegMatchError with its fields (A15-A17) or DuplicatedUser.

    `password_hash` is one that `passwords.hash_password` made of this password before: who makes
    hundreds of accounts with one password hashes it once.
    """
    rules.check(
        username=rules.username(username),
        nickname=rules.nickname(nickname),
        password=rules.password(password, username, nickname),
    )
    if queries.any_by_name(username):
        raise _duplicated()  # before the costly hash
    hashed = password_hash or passwords.hash_password(password)
    return _create(username, nickname, hashed, email)


@db.atomic
def _create(username: str, nickname: str, password: str, email: str) -> User:
    user = User(
        username=username,
        username_key=username.lower(),
        nickname=nickname,
        nickname_key=nickname.lower(),
        password=password,
        email=email,
    )
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise _duplicated() from None
    TokenBatch.objects.create(user=user)
    publish(UserRegistered(user.pk))
    return user


def _duplicated() -> DuplicatedUser:
    return DuplicatedUser(fields={"username": [_("This username is taken.")]})


@db.atomic
def edit_profile(
    user: User, *, nickname: str | None = None, bio: str | None = None, avatar: int | None = None
) -> User:
    """Change what is given of a person's profile; `avatar` is the id of a picture of theirs, or 0.

    Raises RegMatchError for the nickname, InvalidInput for the others.
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    before = (row.nickname, row.bio, row.avatar_name)
    if nickname is not None:
        rules.check(nickname=rules.nickname(nickname))
        row.nickname, row.nickname_key = nickname, nickname.lower()
    if bio is not None:
        if len(bio) > BIO_MAX:
            raise InvalidInput(fields={"bio": [_("At most 200 characters.")]})
        row.bio = bio
    if avatar is not None:
        row.avatar_name = _avatar(row, avatar) if avatar else ""
    if (row.nickname, row.bio, row.avatar_name) != before:
        row.save(update_fields=["nickname", "nickname_key", "bio", "avatar_name"])
        publish(ProfileChanged(row.pk))
    return row


def _avatar(user: User, media_id: int) -> str:
    try:
        return media.by_ids(user.pk, [media_id])[0].thumb_name
    except InvalidInput as error:
        texts = [text for part in (error.fields or {}).values() for text in part]
        raise InvalidInput(fields={"avatar": texts}) from None


def touch(user: User) -> None:
    """Note that a person is here now, at most once in five minutes (T31b)."""
    now = timezone.now()
    if now - user.last_seen < SEEN_EVERY:
        return
    User.objects.filter(pk=user.pk, last_seen__lt=now - SEEN_EVERY).update(last_seen=now)
    user.last_seen = now


# --- signing in ---------------------------------------------------------------------------------
def login(
    username: str, password: str, client: str = "other", user_agent: str = "", address: str = ""
) -> tuple[User, TokenPair]:
    """Sign in by password. Raises PasswordNotCorrected, also when there is nobody of that name, at
    the same cost (T14); UserBanned only when the password is right (A14)."""
    user = queries.any_by_name(username)
    if not passwords.is_right(user, password) or user is None or user.deleted_at:
        raise PasswordNotCorrected
    return user, sign_in(user, client, user_agent, address)


@_fenced
def sign_in(
    user: User, client: str = "other", user_agent: str = "", address: str = ""
) -> TokenPair:
    """Issue a pair for a client; an older sign-in of that client ends. UserBanned when banned."""
    batch = _locked_batch(user)
    row = TokenVersion.objects.filter(user=user, client=client).first()
    if row is None:
        row = TokenVersion(user=user, client=client)
    else:
        _revoke_version(row, "login")
    current = User.objects.get(pk=user.pk)
    if current.banned_at:
        raise UserBannedError
    if current.deleted_at:
        raise PasswordNotCorrected
    mark = tokens.new_mark(batch.batch)
    row.refresh_jti, row.refresh_iat, row.refresh_bat = mark
    row.previous_jti = row.oldest_jti = ""
    row.rotated_at = db.now_ms()
    row.user_agent, row.address, row.last_seen = user_agent[:300], address[:45], timezone.now()
    row.save()
    publish(UserSignedIn(user.pk, client))
    return tokens.mint(current, client, row.version, batch.batch, mark)


def refresh(refresh_token: str) -> tuple[User, TokenPair]:
    """Exchange a refresh token for a new pair with the batch and the roles of now (A8, T4, T5).

    The token before the one in force gets the same successor again, until that was used and ten
    seconds beyond; an older one ends the sign-in of its client (T15).
    Raises InvalidToken, ExpiredJwt or BannedRefreshToken.
    """
    principal = tokens.decode_refresh(refresh_token)
    found = _rotate(principal)
    if found is None:
        cache.fence(principal.user_id)
        _end_reused(principal)
        raise BannedRefreshToken
    return found


@db.atomic
def _rotate(principal: Principal) -> tuple[User, TokenPair] | None:
    """Validate and mint under the lock; None when the token was already replaced."""
    user, batch, row = _locked_sign_in(principal)
    current = Mark(row.refresh_jti, row.refresh_iat, row.refresh_bat)
    now = db.now_ms()
    if principal.jti == row.refresh_jti:
        successor = tokens.new_mark(batch.batch)
        row.oldest_jti = row.previous_jti
        row.previous_jti, row.previous_iat, row.previous_bat = current
        row.refresh_jti, row.refresh_iat, row.refresh_bat = successor
        row.rotated_at = now
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
        _, _, row = _locked_sign_in(principal)
    except BannedRefreshToken:
        return
    logger.warning("refresh token reused: user %s client %s", row.user_id, row.client)
    _revoke_version(row, "reuse")


def _locked_sign_in(principal: Principal) -> tuple[User, TokenBatch, TokenVersion]:
    """Lock the rows of a refresh token; BannedRefreshToken when it is at or below a floor."""
    user = User.objects.filter(pk=principal.user_id).first()
    if user is None:
        raise BannedRefreshToken
    batch = _locked_batch(user)
    rows = TokenVersion.objects.filter(user=user, client=principal.client)
    row = rows.first()
    # Roles and ban as of the lock: what changes them revokes under it.
    user.refresh_from_db()
    if (
        not user.is_active
        or row is None
        or principal.batch <= batch.refresh_floor
        or principal.version <= row.refresh_floor
    ):
        raise BannedRefreshToken
    return user, batch, row


# --- revoking -----------------------------------------------------------------------------------
@_fenced
def log_out(user: User, client: str, version: int | None = None, reason: str = "logout") -> bool:
    """End the sign-in of a client, access and refresh (A9, A11, T8).

    With `version`, only a sign-in that is not newer than that. Returns whether one was ended.
    """
    _locked_batch(user)
    row = TokenVersion.objects.filter(user=user, client=client).first()
    if row is None or (version is not None and row.version > version):
        return False
    _revoke_version(row, reason)
    return True


@_fenced
def ban(user: User) -> User:
    """Ban: every token is dead, logins are refused, what they wrote is hidden (A14)."""
    batch = _locked_batch(user)
    user.refresh_from_db()
    if user.banned_at is None:
        user.banned_at = timezone.now()
        user.save(update_fields=["banned_at"])
        _revoke_batch(batch, "ban")
        publish(UserBanned(user.pk))
    return user


@_fenced
def unban(user: User) -> User:
    """Lift a ban; new sign-ins live, old tokens stay dead (T1)."""
    _locked_batch(user)
    user.refresh_from_db()
    if user.banned_at is not None:
        user.banned_at = None
        user.save(update_fields=["banned_at"])
        publish(UserUnbanned(user.pk))
    return user


@_fenced
def promote(user: User, roles: int) -> User:
    """Give a person exactly these roles.

    Access tokens with other roles are dead; refresh tokens live and fetch new ones (A13).
    """
    batch = _locked_batch(user)
    user.refresh_from_db()
    if user.roles != roles:
        user.roles = roles
        user.save(update_fields=["roles"])
        _revoke_batch(batch, "roles", access_only=True)
        publish(RolesChanged(user.pk, roles))
    return user


def _locked_batch(user: User) -> TokenBatch:
    """Lock a person's numbers; made on first use for people who were not made by `register`."""
    rows = TokenBatch.objects.select_for_update()
    row = rows.filter(pk=user.pk).first()
    if row is None:
        db.insert_ignore(TokenBatch, [TokenBatch(user=user)])
        row = rows.get(pk=user.pk)
    return row


def _revoke_batch(row: TokenBatch, reason: str, *, access_only: bool = False) -> None:
    """Kill the tokens of all clients; the caller holds the lock."""
    row.access_floor = row.batch
    if not access_only:
        row.refresh_floor = row.batch
    row.batch += 1
    row.save()
    _tell(TokensRevoked(row.user_id, None, row.access_floor, reason, access_only))


def _revoke_version(row: TokenVersion, reason: str) -> None:
    """Kill the tokens of one client; the caller holds the lock of the batch."""
    row.access_floor = row.refresh_floor = row.version
    row.version += 1
    row.save()
    _tell(TokensRevoked(row.user_id, row.client, row.access_floor, reason, access_only=False))


def _tell(event: TokensRevoked) -> None:
    """Publish, and act on it right after the commit: the event repeats it after a crash."""
    publish(event)
    transaction.on_commit(lambda: announce(event))


def announce(event: TokensRevoked) -> None:
    """Make a committed revocation felt at once: the cached floors, then the open sockets (T7)."""
    if event.client is None:
        cache.raise_floors(event.user_id, event.floor, {})
    else:
        cache.raise_floors(event.user_id, None, {event.client: event.floor})
    sockets.kick(
        event.user_id, event.client, event.floor, event.reason, access_only=event.access_only
    )
