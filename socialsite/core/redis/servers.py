"""Questions about a Redis server itself, for an operator: on a connection of their own.

The cache's pool, its short time-outs and its circuit breaker are not used, so that a slow or full
server is described instead of reported as down.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from socialsite.core.redis import client
from socialsite.core.redis.circuit_breaker import RedisDown

if TYPE_CHECKING:
    from socialsite.core.redis.sharded.client import Sharded
    from socialsite.core.redis.sharded.topology import Address

TIMEOUT_SECONDS = 2.0
# What a library that talks to Redis by itself, such as the channel layer, may raise.
ERRORS = (redis.RedisError, OSError)
SCHEMES = ("redis://", "rediss://", "unix://")


def is_redis(url: str) -> bool:
    """Return True for the address of a Redis server; a broker may be something else."""
    return url.startswith(SCHEMES)


@contextlib.contextmanager
def connected(url: str, timeout: float = TIMEOUT_SECONDS) -> Iterator["redis.Redis"]:
    """Connect to the server of a URL. RedisDown instead of any Redis error in the block."""
    try:
        if settings.EMBEDDED:  # in this process
            yield client()
            return
        with redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        ) as connection:
            yield connection
    except redis.RedisError as error:
        raise RedisDown(str(error)) from error


@contextlib.contextmanager
def caches() -> "Iterator[list[redis.Redis]]":
    """Connect to the cache, or to each of its masters. RedisDown as `connected`.

    RedisDown, too, if no node of a cluster, or no Sentinel, answers.
    """
    if settings.CACHE_SERVERS is None:
        with connected(settings.REDIS_URL) as connection:
            yield [connection]
        return
    several = _several()
    several.topology.refresh()
    try:
        masters = [*several.masters()]
        if not masters:
            raise RedisDown("nobody knows the masters")
        yield masters
    except redis.RedisError as error:
        raise RedisDown(str(error)) from error


def unused() -> "list[Address]":
    """Return those of `caches` that no process uses for all their keys. Raises django.db.Error."""
    return _several().unused()


def _several() -> "Sharded":
    return cast("Sharded", client())


def config(connection: "redis.Redis", names: Sequence[str]) -> dict[str, str] | None:
    """Return settings of the server; None if it shows none, as hosted servers may."""
    found: dict[Any, Any] = {}
    try:
        for name in names:
            found |= connection.config_get(name)
    except redis.ResponseError:
        return None
    return {_text(name): _text(value) for name, value in found.items()}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
