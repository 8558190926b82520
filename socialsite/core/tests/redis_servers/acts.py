"""What processes do with the cache in these tests."""

from typing import Any

import redis as redis_py

from deploy.services.redis_node import Node
from socialsite.core.redis.sharded.client import Sharded
from socialsite.core.redis.sharded.topology import Address
from socialsite.core.redis.wire import wire_of
from socialsite.tests.support.waiting import eventually


def ask(client: Sharded, *commands: tuple[Any, ...]) -> list[Any]:
    """Send commands as a batch does."""
    replies: list[Any] = wire_of(client.connection_pool).ask(commands)
    return replies


def value(client: Sharded, key: str) -> Any:
    """Return what a process reads: a value, None, or "unknown" for the database's to tell."""
    (reply,) = ask(client, ("GET", key))
    return "unknown" if isinstance(reply, Exception) else reply


def put(client: Sharded, *keys: str) -> None:
    """Store the text "old" under some keys, as soon as their servers are trusted."""
    for key in keys:
        eventually(lambda key=key: ask(client, ("SET", key, "old")), lambda found: found == [b"OK"])  # type: ignore[misc]


def seen_until(client: Sharded, key: str, last: bytes | None) -> set[Any]:
    """Read a key until it has a value; return all that was read."""
    seen: set[Any] = set()

    def look() -> Any:
        found = value(client, key)
        seen.add(found)
        return found

    eventually(look, lambda found: found == last)
    return seen


class Away:
    """A process that does not reach one server, by the address of nobody."""

    def __init__(self, client: Sharded, node: Node) -> None:
        self.pool = client.connection_pool
        self.address = Address(node.place.host, node.place.port)
        self.kept = self.pool.pool(self.address)

    def __enter__(self) -> None:
        retry = self.kept.connection_kwargs["retry"]
        dead = redis_py.ConnectionPool(host="127.0.0.1", port=1, retry=retry)
        self.pool._pools[self.address] = dead
        wire_of(self.pool)._nodes.clear()

    def __exit__(self, *_error: object) -> None:
        self.pool._pools[self.address] = self.kept
        wire_of(self.pool)._nodes.clear()
