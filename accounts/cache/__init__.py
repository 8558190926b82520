"""Redis data of accounts: floors of access tokens, WebSocket tickets, cards of people.

Which keys exist and when they become invalid is decided here; reads of the database belong to
`accounts.queries`.

Cached floors spare most requests a query for revocations:

- A floor lives at most FLOOR_TTL_MS and is only ever raised, so a lost write has effect for at most
  that time.
- During a revocation its person is fenced: readers ask MySQL and fill nothing. After the commit the
  floors are raised, then the fence is removed. Without Redis, readers ask MySQL.
- Refresh tokens are always checked against MySQL, so their floors are not cached (T3).

A ticket stands for a checked access token. It is valid once, for TICKET_SECONDS. Redis alone stores
it, as a hash: without Redis there are no tickets.

A card is invalidated after the commit of any change, and again by the event of that change.
`STANDING` is an epoch: while its token is unchanged, nobody was banned, unbanned or closed.
"""

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery

from accounts.models import TokenBatch, TokenVersion
from socialsite.core import redis
from socialsite.core.cache.lease import Epoch, LeaseCache
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import Unavailable
from socialsite.core.redis import Batch, Promise, circuit_breaker

logger = logging.getLogger(__name__)

FLOOR_TTL_MS = 5_000
FENCE_TTL_MS = 5_000
TICKET_SECONDS = 30

# The card of a person as JSON (`accounts.queries`); b"" for a banned, closed or unknown person.
PEOPLE = LeaseCache("person", ttl_ms=600_000)
STANDING = Epoch("standing")


class Floors(NamedTuple):
    """A client's tokens are dead when their batch or version is at or below these numbers.

    `last_seen` of the client is set only on floors read from MySQL.
    """

    batch: int
    version: int
    last_seen: datetime | None = None


def _fence(user_id: int) -> str:
    return f"fence:{redis.tag(user_id)}"


def _batch(user_id: int) -> str:
    return f"access:{redis.tag(user_id)}"


def _version(user_id: int, client: str) -> str:
    return f"access:{redis.tag(user_id)}:{client}"


@contextmanager
def fenced(user_id: int) -> Iterator[None]:
    """Make readers of this person's floors use MySQL until the block has committed.

    Fences may be nested. A fence whose process died expires after FENCE_TTL_MS.
    """
    _move_fence(user_id, 1)
    try:
        yield
    finally:
        transaction.on_commit(partial(_move_fence, user_id, -1))


def _move_fence(user_id: int, step: int) -> None:
    try:
        redis.script(__file__, "move_fence")([_fence(user_id)], [step, FENCE_TTL_MS])
    except redis.RedisDown as error:
        logger.warning("fence of user %s not changed by %s: %s", user_id, step, error)


def raise_floors(user_id: int, batch: int | None, versions: Mapping[str, int]) -> None:
    """Raise cached floors; call after the commit. Without Redis they are deleted when it is back.

    With several servers, no process reads those that could not be reached when it returns.
    """
    floors = {_version(user_id, client): floor for client, floor in versions.items()}
    if batch is not None:
        floors[_batch(user_id)] = batch
    try:
        _raise(user_id, "revoke", floors)
    except redis.RedisDown as error:
        logger.warning("floors of user %s not raised in Redis; they expire: %s", user_id, error)
        redis.invalidate([*floors])


def ask(batch: Batch, user_id: int, client: str) -> Promise[Floors | None]:
    """Add the read of a client's floors to a batch; None means "ask MySQL"."""
    keys = [_fence(user_id), _batch(user_id), _version(user_id, client)]

    def read(reply: list[bytes | None]) -> Floors | None:
        fenced, batch_floor, version_floor = reply
        if fenced is not None or batch_floor is None or version_floor is None:
            return None
        return Floors(int(batch_floor), int(version_floor))

    return batch.get(keys, read)


def access_floors(user_id: int, client: str) -> Floors | None:
    """Return the floors of a client's access tokens; None for an unknown client."""
    batch = Batch()
    promise = ask(batch, user_id, client)
    batch.run()
    return resolve(promise, user_id, client)


def resolve(promise: Promise[Floors | None], user_id: int, client: str) -> Floors | None:
    """Return the floors of a promise, from MySQL when Redis lacks them."""
    try:
        known = promise.value
    except redis.RedisDown:
        return stored_floors(user_id, client)
    if known is not None:
        return known
    floors = stored_floors(user_id, client)
    if floors is not None:
        try:
            _raise(user_id, "fill", _cached(user_id, client, floors))
        except redis.RedisDown:
            logger.info("floors of user %s not cached: Redis unavailable", user_id)
    return floors


def resolve_all(asked: Sequence[tuple[Promise[Floors | None], int, str]]) -> list[Floors | None]:
    """Return the floors of many promises, each with its person and client, in order.

    What Redis lacks is read from MySQL in one query, and put into Redis in one round trip.
    """
    lacking = {(user_id, client) for promise, user_id, client in asked if promise.known is None}
    stored = stored_floors_of(lacking) if lacking else {}
    batch = Batch()
    for (user_id, client), floors in stored.items():
        words = _words(user_id, "fill", _cached(user_id, client, floors))
        batch.add(*_script().command(*words))
    batch.run()
    return [promise.known or stored.get((user_id, client)) for promise, user_id, client in asked]


def stored_floors(user_id: int, client: str, kind: str = "access") -> Floors | None:
    """Return the floors of a kind, `access` or `refresh`, from MySQL in one query."""
    rows = _stored_floors(user_id, client, kind=kind)
    return None if not rows or rows[0][0] is None else Floors(*rows[0])


def stored_floors_of(clients: Collection[tuple[int, str]]) -> dict[tuple[int, str], Floors]:
    """Return the access floors of clients, each a person's id and a name, that MySQL knows."""
    people, names = {user_id for user_id, _ in clients}, {client for _, client in clients}
    theirs = TokenVersion.objects.filter(user_id__in=people, client__in=names)
    rows: Iterable[Any] = _with_floors(theirs, "access", "user_id", "client")
    return {
        (user_id, client): Floors(batch, *more)
        for user_id, client, batch, *more in rows
        if (user_id, client) in clients and batch is not None
    }


@compiled
def _stored_floors(user_id: int, client: str, *, kind: str) -> "QuerySet[TokenVersion, Any]":
    return _with_floors(TokenVersion.objects.filter(user_id=user_id, client=client), kind)


def _with_floors(
    rows: "QuerySet[TokenVersion]", kind: str, *columns: str
) -> "QuerySet[TokenVersion, Any]":
    batch = TokenBatch.objects.filter(pk=OuterRef("user_id")).values(f"{kind}_floor")
    columns = (*columns, "batch", f"{kind}_floor", "last_seen")
    return rows.annotate(batch=Subquery(batch)).values_list(*columns)


def _cached(user_id: int, client: str, floors: Floors) -> dict[str, int]:
    return {_batch(user_id): floors.batch, _version(user_id, client): floors.version}


def _raise(user_id: int, mode: str, floors: Mapping[str, int]) -> None:
    _script()(*_words(user_id, mode, floors))


def _script() -> redis.Script:
    return redis.script(__file__, "raise_floors")


def _words(user_id: int, mode: str, floors: Mapping[str, int]) -> tuple[list[str], list[Any]]:
    """Return the keys and arguments of the script; `mode` is fill or revoke."""
    return [_fence(user_id), *floors], [FLOOR_TTL_MS, mode, *floors.values()]


def card_changed(user_id: int) -> None:
    """Invalidate the card of a person after the commit of the current transaction."""
    transaction.on_commit(partial(PEOPLE.invalidate, [user_id]), robust=True)


def standing_changed(user_id: int) -> None:
    """Invalidate the card of a person who was hidden or shown again, and all cached sets of people.

    That is after a ban or its end, and after the closing of an account or its end.
    """
    card_changed(user_id)
    transaction.on_commit(STANDING.renew, robust=True)


def store_ticket(claims: Mapping[str, Any]) -> str:
    """Store these plain values and return a ticket for them. Raises Unavailable without Redis."""
    ticket = secrets.token_urlsafe(32)
    value = json.dumps(claims)
    _tickets(lambda connection: connection.set(_ticket(ticket), value, ex=TICKET_SECONDS))
    return ticket


def redeem_ticket(ticket: str) -> dict[str, Any] | None:
    """Return the values of a ticket and delete it; None for a used, expired or unknown ticket.

    Raises Unavailable.
    """
    value = _tickets(lambda connection: connection.getdel(_ticket(ticket)))
    return None if value is None else json.loads(value)


def _tickets(function: Callable[[Any], Any]) -> Any:
    try:
        return redis.call(function)
    except redis.RedisDown:
        raise Unavailable(retry_after=round(circuit_breaker.BREAK_SECONDS)) from None


def _ticket(ticket: str) -> str:
    return f"ticket:{hashlib.sha256(ticket.encode()).hexdigest()}"
