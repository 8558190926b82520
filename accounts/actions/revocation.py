"""What all ways of ending sign-ins are made of.

- Every change of a person's tokens happens under the lock of that person's TokenBatch row, so
  logins, refreshes and revocations of one person come one after the other.
- To revoke: floor := current, current += 1. What is issued afterwards lives (T1).
- `@fenced` actions send readers to MySQL before they commit; call them outside of transactions.
"""

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from django.db import transaction

from accounts import cache, sockets
from accounts.events import TokensRevoked
from accounts.models import TokenBatch, TokenVersion, User
from socialsite.core import db
from socialsite.core.events import publish

P = ParamSpec("P")
R = TypeVar("R")


def fenced(
    function: Callable[Concatenate[User, P], R],
) -> Callable[Concatenate[User, P], R]:
    """Fence the person's cached floors, then run the action in one transaction."""

    @functools.wraps(function)
    def run(user: User, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with cache.fenced(user.pk):
            return db.atomic(function)(user, *args, **kwargs)

    return run


def locked_batch(user: User) -> TokenBatch:
    """Lock a person's numbers; made on first use for people who were not made by `register`."""
    rows = TokenBatch.objects.select_for_update()
    row = rows.filter(pk=user.pk).first()
    if row is None:
        db.insert_ignore(TokenBatch, [TokenBatch(user=user)])
        row = rows.get(pk=user.pk)
    return row


def is_live(row: TokenVersion, batch: TokenBatch) -> bool:
    """True when the client of a row has a refresh token above both floors; its time may be over.

    A version that is revoked has its refresh token taken away, so the row's own floor is below.
    """
    return bool(row.refresh_jti) and row.refresh_bat > batch.refresh_floor


def revoke_batch(
    row: TokenBatch,
    reason: str,
    *,
    access_only: bool = False,
    by: str = "",
    spared: str | None = None,
) -> None:
    """Kill the tokens of all clients; the caller holds the lock, and signs `spared` in again."""
    row.access_floor = row.batch
    if not access_only:
        row.refresh_floor, row.ended = row.batch, reason
    row.batch += 1
    row.save()
    _tell(TokensRevoked(row.user_id, None, row.access_floor, reason, access_only, by, spared))


def revoke_version(row: TokenVersion, reason: str, by: str = "") -> None:
    """Kill the tokens of one client; the caller holds the lock of the batch.

    Without a refresh token in force the row says that nobody is signed in there.
    """
    next_version(row)
    row.ended, row.ended_by = reason, by
    row.save()
    _tell(TokensRevoked(row.user_id, row.client, row.access_floor, reason, False, by))


def next_version(row: TokenVersion) -> None:
    """Put a client's tokens at or below its floors, without a word about it; does not save."""
    row.access_floor = row.refresh_floor = row.version
    row.version += 1
    row.refresh_jti = row.previous_jti = row.oldest_jti = ""


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
    sockets.kick(event)
