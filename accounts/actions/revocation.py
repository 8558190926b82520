"""Building blocks of every revocation.

- Every change of a person's tokens happens under the lock of that person's TokenBatch row. So
  log-ins, refreshes and revocations of one person are serialized.
- To revoke: floor := current, current += 1. Tokens issued afterwards are valid (T1).
- `@fenced` actions make readers use MySQL until the commit. Call them outside of transactions.
"""

import functools
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from django.db import transaction

from accounts import cache, live_hints
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
    """Lock a person's TokenBatch row. Creates it for people that `register` did not create."""
    rows = TokenBatch.objects.select_for_update()
    row = rows.filter(pk=user.pk).first()
    if row is None:
        db.insert_ignore(TokenBatch, [TokenBatch(user=user)])
        row = rows.get(pk=user.pk)
    return row


def is_live(row: TokenVersion, batch: TokenBatch) -> bool:
    """Return whether a client has a refresh token above both floors; it may have expired.

    Revoking a version removes its refresh token, so the row's own floor needs no check.
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
    """Revoke the tokens of all clients. The caller holds the lock, and signs `spared` in again."""
    row.access_floor = row.batch
    if not access_only:
        row.refresh_floor, row.ended = row.batch, reason
    row.batch += 1
    row.save()
    _publish(TokensRevoked(row.user_id, None, row.access_floor, reason, access_only, by, spared))


def revoke_version(row: TokenVersion, reason: str, by: str = "") -> None:
    """Revoke the tokens of one client. The caller holds the lock of the batch.

    A row without a current refresh token means that nobody is signed in on that client.
    """
    next_version(row)
    row.ended, row.ended_by = reason, by
    row.store()
    _publish(TokensRevoked(row.user_id, row.client, row.access_floor, reason, False, by))


def next_version(row: TokenVersion) -> None:
    """Revoke a client's tokens without publishing an event; does not save."""
    row.access_floor = row.refresh_floor = row.version
    row.version += 1
    row.refresh_jti = row.previous_jti = row.oldest_jti = ""


def _publish(event: TokensRevoked) -> None:
    """Publish the event, and announce it after the commit; the event's handler repeats that."""
    publish(event)
    transaction.on_commit(lambda: announce(event, time.time()))


def announce(event: TokensRevoked, committed_at: float | None = None) -> None:
    """Apply a committed revocation at once: raise the cached floors, close the sockets (T7).

    `committed_at` is the Unix time of a commit that was made just now.
    """
    if event.client is None:
        cache.raise_floors(event.user_id, event.floor, {})
    else:
        cache.raise_floors(event.user_id, None, {event.client: event.floor})
    live_hints.kick(event, committed_at)
