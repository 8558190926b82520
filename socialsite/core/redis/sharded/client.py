"""redis-py's methods for single commands on several servers, and deletions that count."""

from collections.abc import Iterator, Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.commands import CoreCommands
from redis.retry import Retry

from socialsite.core.cache_servers import CacheServers
from socialsite.core.redis.sharded import ledger
from socialsite.core.redis.sharded.slots import Slots
from socialsite.core.redis.sharded.topology import Address, Cluster, Master
from socialsite.core.redis.sharded.trust import Trust
from socialsite.core.redis.sharded.wires import Servers, ShardedWire
from socialsite.core.redis.wire import wire_of

# The thread of `trust` asks servers that may be slow or away.
THREAD_SECONDS = 0.5


class Sharded(CoreCommands):
    """A client of the cache on several servers."""

    _event_dispatcher: Any = None  # for redis-py: nobody listens

    def __init__(self, servers: CacheServers, options: dict[str, Any]) -> None:
        self._patient: dict[str, Any] = {
            "socket_timeout": THREAD_SECONDS,
            "socket_connect_timeout": THREAD_SECONDS,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "decode_responses": True,
            "encoding_errors": "surrogateescape",  # names of keys are sent back as they came
            "password": servers.password,
        }
        self._connections: dict[Address, redis.Redis] = {}
        self.topology = (
            Cluster(servers, self.connect) if servers.is_cluster else Master(servers, self._patient)
        )
        self.trust = Trust(self.topology, self.connect)
        own = {**options, "password": servers.password}
        self.connection_pool = Servers(self.topology, self.trust, own)
        self._parsers: Any = redis.Redis(protocol=2).response_callbacks

    def connect(self, address: Address) -> redis.Redis:
        """Return a client of one server, for questions about the server itself."""
        if address not in self._connections:
            self._connections[address] = redis.Redis(
                host=address.host, port=address.port, **self._patient
            )
        return self._connections[address]

    @property
    def _wire(self) -> ShardedWire:
        wire: ShardedWire = wire_of(self.connection_pool)
        return wire

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run one command on the server of its key. Raises RedisError."""
        (reply,) = self._wire.ask([args])
        if isinstance(reply, Exception):
            raise reply
        options.pop("keys", None)
        parse = self._parsers.get(args[0])
        return reply if parse is None else parse(reply, **options)

    # --- all servers ----------------------------------------------------------------------------
    def masters(self) -> Iterator[redis.Redis]:
        """Yield a client of each master. Raises ConnectionError if none is known."""
        if not self.topology.masters():
            self.topology.refresh()
        addresses = self.topology.masters()
        if not addresses:
            raise redis.ConnectionError("no server of the cache is known")
        yield from map(self.connect, addresses)

    def flushdb(self, asynchronous: bool = False, **_options: Any) -> Any:
        """Empty all servers."""
        for one in self.masters():
            one.flushall(asynchronous=asynchronous)
        return True

    def dbsize(self, **_options: Any) -> Any:
        """Return the number of keys on all servers."""
        return sum(int(one.dbsize()) for one in self.masters())

    def is_trusted(self) -> bool:
        """Return whether this process may use all slots of all masters now."""
        allowed = self.trust.allowed()  # begins to look for masters, if nobody did before
        return bool(self.topology.masters()) and not self.trust.unused(allowed)

    def unused(self) -> list[Address]:
        """Return the known masters that no process uses for all their slots.

        Raises django.db.Error.
        """
        return self.trust.unused({row.replid: row.slots for row in ledger.read()})

    # --- deletions ------------------------------------------------------------------------------
    def delete_everywhere(self, keys: Sequence[str]) -> None:
        """Delete keys that a commit made outdated; when it returns, no process reads them.

        Servers that could not be reached, or may have been replaced, are distrusted. Call it after
        the commit. Never raises.
        """
        places = self.topology
        if not places.masters():  # a process that has just begun
            places.refresh()
        if self.trust.covers(self._wire.delete(keys).ids):
            return
        # Slots may have moved since this process looked.
        places.refresh()
        done, failed = self._wire.delete(keys)
        keep: dict[str, Slots] = {}
        for replid, address in self.trust.masters().items():
            if address not in failed:
                missed = frozenset(slot for slot, ids in done.items() if replid not in ids)
                keep[replid] = places.slots_at(address) - missed
        self.trust.settle(done, keep)
