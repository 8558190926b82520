"""The floors of access tokens in Redis, so that requests seldom ask MySQL about revocation.

- A floor lives FLOOR_TTL_MS at most and is only ever raised: a lost write costs that time at most.
- Before a revocation commits, its person is fenced: while the fence stands readers ask MySQL and
  fill nothing in. After the commit the floors are raised. Without Redis MySQL answers.
- Refresh tokens are checked against MySQL always, so their floors are not kept here (T3).
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from django.db.models import OuterRef, Subquery

from accounts.models import TokenBatch, TokenVersion
from socialsite.core import redis
from socialsite.core.redis import Batch, Promise

logger = logging.getLogger(__name__)

FLOOR_TTL_MS = 5_000
FENCE_TTL_MS = 5_000


class Floors(NamedTuple):
    """Tokens of a client are dead when their batch or their version is at or below these."""

    batch: int
    version: int


def _fence(user_id: int) -> str:
    return f"fence:{user_id}"


def _batch(user_id: int) -> str:
    return f"access:{user_id}"


def _version(user_id: int, client: str) -> str:
    return f"access:{user_id}:{client}"


def fence(user_id: int) -> None:
    """Send readers of this person's floors to MySQL for a while; call before the transaction."""
    try:
        redis.call(lambda connection: connection.set(_fence(user_id), 1, px=FENCE_TTL_MS))
    except redis.RedisDown as error:
        logger.warning("floors of %s are not fenced: %s", user_id, error)


def raise_floors(user_id: int, batch: int | None, versions: Mapping[str, int]) -> None:
    """Make committed floors known; call after the commit. Without Redis they run out by time."""
    floors = {_version(user_id, client): floor for client, floor in versions.items()}
    if batch is not None:
        floors[_batch(user_id)] = batch
    try:
        _raise(user_id, "revoke", floors)
    except redis.RedisDown as error:
        logger.warning("floors of %s are not raised in Redis: %s", user_id, error)


def ask(batch: Batch, user_id: int, client: str) -> Promise[Floors | None]:
    """Add the read of a client's floors to a batch; None stands for "ask MySQL"."""
    keys = [_fence(user_id), _batch(user_id), _version(user_id, client)]

    def read(reply: list[bytes | None]) -> Floors | None:
        fenced, batch_floor, version_floor = reply
        if fenced is not None or batch_floor is None or version_floor is None:
            return None
        return Floors(int(batch_floor), int(version_floor))

    return batch.add(lambda pipeline: pipeline.mget(keys), read)


def access_floors(user_id: int, client: str) -> Floors | None:
    """Return the floors of a client's access tokens; None when there is no such client."""
    batch = Batch()
    promise = ask(batch, user_id, client)
    batch.run()
    return resolve(promise, user_id, client)


def resolve(promise: Promise[Floors | None], user_id: int, client: str) -> Floors | None:
    """Return the floors of a promise, from MySQL when Redis did not know."""
    try:
        known = promise.value
    except redis.RedisDown:
        return stored_floors(user_id, client)
    if known is not None:
        return known
    floors = stored_floors(user_id, client)
    if floors is not None:
        try:
            _raise(
                user_id,
                "fill",
                {_batch(user_id): floors.batch, _version(user_id, client): floors.version},
            )
        except redis.RedisDown:
            logger.info("floors of %s are not cached", user_id)
    return floors


def stored_floors(user_id: int, client: str, kind: str = "access") -> Floors | None:
    """Return the floors of a kind, `access` or `refresh`, from MySQL in one query."""
    batch = TokenBatch.objects.filter(pk=OuterRef("user_id")).values(f"{kind}_floor")
    rows = TokenVersion.objects.filter(user_id=user_id, client=client)
    row = rows.annotate(batch=Subquery(batch)).values_list("batch", f"{kind}_floor").first()
    return None if row is None or row[0] is None else Floors(*row)


def _raise(user_id: int, mode: str, floors: Mapping[str, int]) -> None:
    script = redis.script(__file__, "raise_floors")
    script([_fence(user_id), *floors], [FLOOR_TTL_MS, mode, *floors.values()])
