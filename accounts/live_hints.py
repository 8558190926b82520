"""Live hints to people's sockets, and presence. Neither is reliable by design.

`push` writes the channel layer's wire format through the site's one Redis client: a pipeline of
PUBLISH for any number of people, with its timeouts and its circuit breaker. Messages that Redis
refuses now are sent when it is back.
"""

import functools
import logging
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings

from accounts import live_hint_types
from accounts.events import TokensRevoked
from socialsite.core import redis

logger = logging.getLogger(__name__)

ONLINE = "online"
# A socket reports its presence every few seconds; after three misses it counts as gone.
ONLINE_MS = 15_000
CHUNK = 1000


def group(user_id: int) -> str:
    """Return the channel layer's group of a person's sockets."""
    return f"user.{user_id}"


def push(user_ids: Iterable[int], message: dict[str, Any]) -> None:
    """Send a JSON message to people's sockets; never raises, may be late, repeated or lost.

    Refuses a message whose type no app registered: logs an error and sends nothing.
    """
    if not live_hint_types.is_known(message):
        logger.error("message type %r is not registered; not sent to sockets", message.get("type"))
        return
    _send(user_ids, {"type": "session.message", "message": message})


def kick(event: TokensRevoked, committed_at: float | None = None) -> None:
    """Close the sockets whose token is at or below a floor: of one client, or of all by batch.

    Call it after the floors are committed. A lost kick delays the close by seconds, since the
    socket checks its token regularly (T7). With `committed_at` the sockets measure the delay.
    """
    message = {"type": "session.kick", **asdict(event), "committed_at": committed_at}
    _send([event.user_id], message)


def _send(user_ids: Iterable[int], event: dict[str, Any]) -> None:
    try:
        body = get_channel_layer().serialize(event)
        prefix = f"{settings.CHANNEL_PREFIX}__group__"
        redis.publish([("PUBLISH", prefix + group(user_id), body) for user_id in user_ids])
    except Exception:
        # The fact behind the hint is committed, so no error may reach the caller.
        logger.exception("%s not sent to sockets", event["type"])


def heartbeat(batch: redis.Batch, user_id: int) -> redis.Promise[bytes | None]:
    """Record that a person has a socket open; pass the answer to `was_online`."""
    before: redis.Promise[bytes | None] = batch.add("ZSCORE", ONLINE, user_id)
    batch.add("ZADD", ONLINE, _now_ms(), user_id)
    return before


def was_online(before: redis.Promise[bytes | None]) -> bool | None:
    """Return whether the person was marked as online before; None without Redis."""
    try:
        score = before.value
    except redis.RedisDown:
        return None
    return score is not None and float(score) >= _now_ms() - ONLINE_MS


def online(user_ids: Iterable[int]) -> set[int]:
    """Return those of these people who have a socket open; nobody without Redis."""
    return _online(user_ids, unknown=False)


def perhaps_online(user_ids: Iterable[int]) -> set[int]:
    """Return those of these people who have a socket open; all of them without Redis."""
    return _online(user_ids, unknown=True)


def _online(user_ids: Iterable[int], *, unknown: bool) -> set[int]:
    ids = list(dict.fromkeys(user_ids))
    since = _now_ms() - ONLINE_MS
    found: set[int] = set()
    for start in range(0, len(ids), CHUNK):
        part = ids[start : start + CHUNK]
        try:
            scores = redis.call(functools.partial(_scores, part))
        except redis.RedisDown:
            return found.union(ids[start:]) if unknown else found
        found |= {
            ident
            for ident, score in zip(part, scores, strict=True)
            if score is not None and score >= since
        }
    return found


def _scores(ids: list[int], connection: Any) -> list[float | None]:
    return list(connection.zmscore(ONLINE, [str(ident) for ident in ids]))


def anyone_perhaps_online() -> bool:
    """Return True when anybody has a socket open, and without Redis."""
    batch = redis.Batch()
    batch.add("ZREMRANGEBYSCORE", ONLINE, 0, _now_ms() - 2 * ONLINE_MS)
    count: redis.Promise[int] = batch.add("ZCARD", ONLINE)
    batch.run()
    try:
        return count.value > 0
    except redis.RedisDown:
        return True


def all_online() -> set[int]:
    """Return everybody who has a socket open; nobody without Redis."""
    now = _now_ms()
    batch = redis.Batch()
    batch.add("ZREMRANGEBYSCORE", ONLINE, 0, now - 2 * ONLINE_MS)
    members: redis.Promise[list[bytes]] = batch.add(
        "ZRANGEBYSCORE", ONLINE, now - ONLINE_MS, "+inf"
    )
    batch.run()
    try:
        return {int(member) for member in members.value}
    except redis.RedisDown:
        return set()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
