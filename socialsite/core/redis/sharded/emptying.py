"""The deletion of all keys of a server of the cache, or of those of some slots."""

from collections.abc import Sequence
from typing import Any

import redis

from socialsite.core.redis.sharded.slots import Slots

# Slots that one round trip asks about, and the keys of each that it returns at most.
SLOTS_EACH, KEYS_EACH = 500, 100


def empty(server: "redis.Redis", slots: Slots | None) -> None:
    """Delete all keys of some slots, or all keys of the server. Raises RedisError.

    It fails if the server does not own the slots any more. Nobody may fill them meanwhile.
    """
    if slots is None:
        server.flushall(asynchronous=True)
        return
    ordered = sorted(slots)
    for start in range(0, len(ordered), SLOTS_EACH):
        left = ordered[start : start + SLOTS_EACH]
        while left:
            left = _some_deleted(server, left)


def _some_deleted(server: "redis.Redis", slots: Sequence[int]) -> list[int]:
    """Delete some keys of each slot; return the slots that had any."""
    pipe: Any
    with server.pipeline(transaction=False) as pipe:
        for slot in slots:
            pipe.execute_command("CLUSTER GETKEYSINSLOT", slot, KEYS_EACH)
        found = pipe.execute()
        for keys in filter(None, found):
            pipe.unlink(*keys)
        pipe.execute()
    return [slot for slot, keys in zip(slots, found, strict=True) if keys]
