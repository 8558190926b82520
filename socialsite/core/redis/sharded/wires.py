"""A thread's connections to the servers of the cache: a batch goes to all of them at once.

A server that fails, or is not trusted with a slot, spoils only the commands of its keys: each has
its error as its reply. Commands that must not wait for trust are in `ALWAYS`.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import redis
from redis.exceptions import AskError, ClusterDownError, MovedError

from socialsite.core.redis.circuit_breaker import Breaker, RedisDown
from socialsite.core.redis.sharded.node_wire import NodeWire
from socialsite.core.redis.sharded.slots import NONE, Slots
from socialsite.core.redis.sharded.splitting import ANY_SERVER, Command, Parts, key_of, parts_of
from socialsite.core.redis.sharded.topology import Address, Topology
from socialsite.core.redis.sharded.trust import Allowed, Trust

# To delete is right on every server. A message is no data.
ALWAYS = ("DEL", *ANY_SERVER)
# A command follows a moved slot so many times.
ROUNDS = 4


Numbers = Collection[int]


class Untrusted(redis.RedisError):
    """The server may have a value of this slot that was deleted elsewhere."""


class Unreachable(redis.ConnectionError):
    """No server has this key now, or the server at the address does not answer."""

    def __init__(self, reason: object, address: Address | None = None) -> None:
        super().__init__(str(reason))
        self.address = address


class _Batch(NamedTuple):
    """Commands that concern one server each."""

    commands: Sequence[Command]
    # None if any server will do.
    slots: Sequence[int | None]
    # A reply or an error for each command.
    replies: list[Any]
    # The servers that each command was sent to, or should have been; None stands for nobody.
    tried: list[list[Address | None]]

    def note(self, address: Address | None, numbers: Numbers) -> None:
        """Note that some commands are for a server."""
        for number in numbers:
            self.tried[number].append(address)

    def fail(self, numbers: Numbers, error: Exception) -> None:
        """Set the error of some commands."""
        for number in numbers:
            self.replies[number] = error

    def permitted(self, numbers: Numbers, slots: Slots) -> Numbers:
        """Return the numbers of commands that may use a server; the others have an error."""
        going = [n for n in numbers if self.slots[n] in slots or self.commands[n][0] in ALWAYS]
        if len(going) < len(numbers):
            self.fail({*numbers}.difference(going), Untrusted("not trusted with this slot"))
        return going


class Deleted(NamedTuple):
    """What became of keys that were to be deleted."""

    # The ids of the servers where all keys of a slot were deleted; none if one of them failed.
    ids: dict[int, set[str]]
    # None stands for nobody.
    failed: set[Address | None]


class Servers:
    """What all threads of a process share; in place of the pool of a client of one server."""

    def __init__(
        self,
        topology: Topology,
        trust: Trust,
        connection_kwargs: dict[str, Any],
    ) -> None:
        self.topology, self.trust = topology, trust
        self.connection_kwargs = connection_kwargs  # as that of a pool
        self._lock = threading.Lock()
        self._pools: dict[Address, Any] = {}
        self._breakers: dict[Address, Breaker] = {}

    def any_server(self) -> Address | None:
        """Return a server that answered last, or may be tried first; None if there is none."""
        masters = self.topology.masters()
        return min(masters, key=lambda one: self.breaker(one).open_until, default=None)

    def make_wire(self) -> "ShardedWire":
        """Return the wire of a thread (`core.redis.wire.wire_of`)."""
        return ShardedWire(self)

    def pool(self, address: Address) -> Any:
        """Return the pool of one server."""
        with self._lock:
            if address not in self._pools:
                options = {**self.connection_kwargs, "host": address.host, "port": address.port}
                self._pools[address] = redis.ConnectionPool(**options)
                self._breakers[address] = Breaker()
            return self._pools[address]

    def breaker(self, address: Address) -> Breaker:
        """Return the circuit breaker of one server."""
        self.pool(address)
        return self._breakers[address]


class ShardedWire:
    """A thread's wires to all servers, used like a `Wire` to one."""

    posted: Sequence[Command] = ()  # each wire has its own

    def __init__(self, servers: Servers) -> None:
        self.pool, self.process = servers, os.getpid()
        self._nodes: dict[Address, NodeWire] = {}

    def delete(self, keys: Sequence[str]) -> "Deleted":
        """Delete keys. Both servers of a slot that is just moving count."""
        for address in self.pool.topology.masters():
            self.pool.breaker(address).let_through()
        batch = self._run([("DEL", key) for key in keys])
        ids: dict[int, set[str]] = {}
        failed: set[Address | None] = set()
        for slot, tried, reply in zip(batch.slots, batch.tried, batch.replies, strict=True):
            here = {self._nodes[one].replid for one in tried if one in self._nodes}
            if isinstance(reply, Exception):
                failed.add(tried[-1])
                here = set()
            if slot is not None:
                ids[slot] = ids.get(slot, here) & here
        return Deleted(ids, failed)

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands, each to the server of its key; return their replies."""
        if not self.pool.topology.is_split:
            return self._run(commands).replies
        parts = [*map(parts_of, commands)]
        replies = self._run([one for part in parts for one in part.commands]).replies
        return [*_joined(replies, parts, commands)]

    def post(self, commands: Sequence[Command]) -> None:
        """Send commands without waiting; a server that fails or is not trusted gets none."""
        allowed = self.pool.trust.allowed()
        if self.pool.topology.is_split:
            commands = [one for command in commands for one in parts_of(command).commands]
        batch = self._batch(commands)
        for address, numbers in self._by_server(batch).items():

            def send(wire: NodeWire, numbers: Numbers = numbers) -> None:
                if going := self._permitted(batch, numbers, wire.begin(allowed)):
                    wire.post([commands[n] for n in going])

            if address is not None:
                self._at(address, send)

    def _batch(self, commands: Sequence[Command]) -> _Batch:
        slot_of = self.pool.topology.slot_of
        slots = [None if (key := key_of(one)) is None else slot_of(key) for one in commands]
        return _Batch(commands, slots, [None] * len(commands), [[] for _ in commands])

    def _by_server(self, batch: _Batch) -> dict[Address | None, list[int]]:
        """Return the numbers of the commands for each server."""
        owner = self.pool.topology.owner
        found: dict[Address | None, list[int]] = {}
        for number, slot in enumerate(batch.slots):
            address = self.pool.any_server() if slot is None else owner(slot)
            found.setdefault(address, []).append(number)
        return found

    def _permitted(self, batch: _Batch, numbers: Numbers, slots: Slots) -> Numbers:
        """Return the numbers of commands that may be sent to a server; the others have an error."""
        going = batch.permitted(numbers, slots)
        if len(going) < len(numbers):
            self.pool.trust.want()
        return going

    def _run(self, commands: Sequence[Command]) -> _Batch:
        """Send commands that concern one server each; follow those whose slot has moved."""
        batch = self._batch(commands)
        pending: Mapping[Address | None, Numbers] = self._by_server(batch)
        for _ in range(ROUNDS):
            self._round(batch, pending)
            moved: dict[Address | None, list[int]] = {}
            asking: dict[Address, list[int]] = {}
            for number in (n for numbers in pending.values() for n in numbers):
                reply, slot = batch.replies[number], batch.slots[number]
                if slot is None or not isinstance(reply, AskError):  # MovedError is one
                    continue
                to = Address(reply.host, reply.port)
                if isinstance(reply, MovedError):
                    self.pool.topology.moved(slot, to)
                    self.pool.trust.want()
                    moved.setdefault(to, []).append(number)
                else:
                    asking.setdefault(to, []).append(number)
            for to, numbers in asking.items():
                self._ask_there(batch, to, numbers)
            if not moved:
                break
            pending = moved
        return batch

    def _round(self, batch: _Batch, pending: Mapping[Address | None, Numbers]) -> None:
        """Send to all servers, then read from all."""
        allowed = self.pool.trust.allowed()
        sent: list[tuple[Address, Numbers]] = []
        for address, numbers in pending.items():
            batch.note(address, numbers)
            if address is None:
                self.pool.trust.want()
                batch.fail(numbers, Unreachable("no server has the slot"))
            elif going := self._send(batch, address, numbers, allowed):
                sent.append((address, going))
        for address, numbers in sent:
            self._read(batch, address, numbers, allowed)

    def _send(self, batch: _Batch, address: Address, numbers: Numbers, allowed: Allowed) -> Numbers:
        """Send what the server may get, and return its numbers; the others get their error."""
        going: Numbers = ()

        def send(wire: NodeWire) -> None:
            nonlocal going
            going = self._permitted(batch, numbers, wire.begin(allowed))
            if going:
                wire.send([batch.commands[n] for n in going])

        error = self._at(address, send)
        if error is None:
            return going
        batch.fail(numbers, error)
        return ()

    def _read(self, batch: _Batch, address: Address, numbers: Numbers, allowed: Allowed) -> None:
        def read(wire: NodeWire) -> None:
            found = wire.replies([batch.commands[n] for n in numbers])
            for number, reply in zip(numbers, found, strict=True):
                batch.replies[number] = reply
            # The server may have another id by now.
            self._permitted(batch, numbers, allowed.get(wire.replid, NONE))
            if any(isinstance(one, ClusterDownError) for one in found):
                self.pool.trust.want()

        error = self._at(address, read)
        if error is not None:
            batch.fail(numbers, error)

    def _ask_there(self, batch: _Batch, to: Address, numbers: Numbers) -> None:
        """Delete on the server to which a slot is just moving; nobody may read it there yet."""
        batch.note(to, numbers)
        going = batch.permitted(numbers, NONE)

        def ask(wire: NodeWire) -> None:
            wire.settle()
            for number in going:  # the server answers only after ASKING
                _, batch.replies[number] = wire.ask([("ASKING",), batch.commands[number]])
            wire.verify()

        error = self._at(to, ask) if going else None
        if error is not None:
            batch.fail(going, error)

    def _at(self, address: Address, function: Callable[[NodeWire], object]) -> Exception | None:
        """Run a function on the wire to a server; return the error if it failed."""
        breaker = self.pool.breaker(address)
        try:
            breaker.check()
            wire = self._nodes.get(address)
            if wire is None:
                wire = self._nodes[address] = NodeWire(self.pool.pool(address))
            function(wire)
        except RedisDown as error:
            self.pool.trust.want()
            return Unreachable(error, address)
        except redis.RedisError as error:
            breaker.trip(is_slow=isinstance(error, redis.TimeoutError))
            self.pool.trust.want()
            return Unreachable(error, address)
        breaker.reset()
        return None


def _joined(
    replies: Sequence[Any], parts: Sequence[Parts], commands: Sequence[Command]
) -> Iterator[Any]:
    """Yield one reply for each command; the errors of single keys of a MGET stay in its list."""
    start = 0
    for part, command in zip(parts, commands, strict=True):
        some = replies[start : start + len(part.commands)]
        start += len(part.commands)
        failed = next((one for one in some if isinstance(one, Exception)), None)
        yield part.join(some) if failed is None or command[0] == "MGET" else failed
