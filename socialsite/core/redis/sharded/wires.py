"""A thread's connections to the servers of the cache: a batch goes to all of them at once.

A server that fails, or is not trusted, spoils only the commands of its keys: each has its error as
its reply. Commands that must not wait for trust are in `ALWAYS`.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError, MovedError

from socialsite.core.redis.circuit_breaker import Breaker, RedisDown
from socialsite.core.redis.sharded.node_wire import NodeWire
from socialsite.core.redis.sharded.splitting import ANY_SERVER, Command, Parts, key_of, parts_of
from socialsite.core.redis.sharded.topology import Address, Topology
from socialsite.core.redis.sharded.trust import Trust

# To delete is right on every server. A message is no data.
ALWAYS = ("DEL", *ANY_SERVER)
# A command follows a moved slot so many times.
ROUNDS = 4


Numbers = Sequence[int]
Replies = list[Any]


class Untrusted(redis.RedisError):
    """The server may have what was deleted elsewhere."""


class Unreachable(redis.ConnectionError):
    """No server has this key now, or the server at the address does not answer."""

    def __init__(self, reason: object, address: Address | None = None) -> None:
        super().__init__(str(reason))
        self.address = address


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

    def delete(self, keys: Sequence[str]) -> tuple[set[str], set[Address | None]]:
        """Delete keys; return the ids of servers that did it, and the servers that failed to.

        Both servers of a slot that is just moving count. None stands for nobody.
        """
        commands = [("DEL", key) for key in keys]
        places: list[list[Address | None]] = [[] for _ in keys]
        done: set[Address] = set()
        failed: set[Address | None] = set()
        for tried, reply in zip(places, self._replies(commands, places), strict=True):
            if isinstance(reply, Exception):
                failed.update(tried)
            else:
                done.update(one for one in tried if one)
        return {self._nodes[one].replid for one in done}, failed

    def ask(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands, each to the server of its key; return their replies."""
        if not self.pool.topology.is_split:
            return self._replies(commands)
        parts = [*map(parts_of, commands)]
        replies = self._replies([one for part in parts for one in part.commands])
        return [*_joined(replies, parts, commands)]

    def post(self, commands: Sequence[Command]) -> None:
        """Send commands without waiting; a server that fails or is not trusted gets none."""
        trusted = self.pool.trust.allowed()
        if self.pool.topology.is_split:
            commands = [one for command in commands for one in parts_of(command).commands]
        for address, numbers in self._by_server(commands).items():
            some = [commands[number] for number in numbers]

            def send(wire: NodeWire, some: Sequence[Command] = some) -> None:
                if wire.begin(trusted):
                    wire.post(some)

            if address is not None:
                self._at(address, send)

    def _by_server(self, commands: Sequence[Command]) -> dict[Address | None, list[int]]:
        """Return the numbers of the commands for each server."""
        address_of = self.pool.topology.address_of
        found: dict[Address | None, list[int]] = {}
        for number, command in enumerate(commands):
            key = key_of(command)
            address = self.pool.any_server() if key is None else address_of(key)
            found.setdefault(address, []).append(number)
        return found

    def _replies(
        self, commands: Sequence[Command], places: list[list[Address | None]] | None = None
    ) -> list[Any]:
        """Return a reply or an error for each command, which concerns one server.

        To `places` are added the servers that each command was sent to, or should have been.
        """
        replies: list[Any] = [None] * len(commands)
        pending = self._by_server(commands)
        for _ in range(ROUNDS):
            if places is not None:
                _note(places, pending)
            self._round(commands, pending, replies)
            moving = [n for some in pending.values() for n in some if _moves(replies[n])]
            pending = {}
            asking: dict[Address, list[int]] = {}
            for number in moving:
                reply = replies[number]
                to = Address(reply.host, reply.port)
                if isinstance(reply, MovedError):
                    self.pool.topology.moved(key_of(commands[number]), to)
                    pending.setdefault(to, []).append(number)
                else:
                    asking.setdefault(to, []).append(number)
            if moving:
                self.pool.trust.want()
            if places is not None:
                _note(places, asking)
            for to, numbers in asking.items():
                self._ask_there(to, numbers, commands, replies)
            if not pending:
                break
        return replies

    def _round(
        self,
        commands: Sequence[Command],
        pending: Mapping[Address | None, Numbers],
        replies: Replies,
    ) -> None:
        """Send to all servers, then read from all."""
        trusted = self.pool.trust.allowed()
        sent: list[tuple[Address, Numbers]] = []
        for address, numbers in pending.items():
            if address is None:
                self.pool.trust.want()
                _set(replies, numbers, Unreachable("no server has the slot"))
            elif going := self._send(address, numbers, commands, replies, trusted):
                sent.append((address, going))
        for address, numbers in sent:
            self._read(address, numbers, commands, replies, trusted)

    def _send(
        self,
        address: Address,
        numbers: Numbers,
        commands: Sequence[Command],
        replies: Replies,
        trusted: frozenset[str],
    ) -> Numbers:
        """Send what the server may get, and return its numbers; the others get their error."""
        going = numbers

        def send(wire: NodeWire) -> None:
            nonlocal going
            if not wire.begin(trusted):
                self.pool.trust.want()
                _set(replies, numbers, Untrusted("the server is not trusted"))
                going = [n for n in numbers if commands[n][0] in ALWAYS]
            if going:
                wire.send([commands[n] for n in going])

        error = self._at(address, send)
        if error is None:
            return going
        _set(replies, numbers, error)
        return ()

    def _read(
        self,
        address: Address,
        numbers: Numbers,
        commands: Sequence[Command],
        replies: Replies,
        trusted: frozenset[str],
    ) -> None:
        sent = [commands[n] for n in numbers]

        def read(wire: NodeWire) -> None:
            found = wire.replies(sent)
            is_trusted = wire.replid in trusted  # it may have a new id by now
            for number, reply in zip(numbers, found, strict=True):
                is_right = is_trusted or commands[number][0] in ALWAYS
                replies[number] = reply if is_right else Untrusted("the server is another one")
            if not is_trusted or any(isinstance(one, ClusterDownError) for one in found):
                self.pool.trust.want()

        error = self._at(address, read)
        if error is not None:
            _set(replies, numbers, error)

    def _ask_there(
        self, address: Address, numbers: Numbers, commands: Sequence[Command], replies: Replies
    ) -> None:
        """Ask the server to which a slot is just moving: it answers only after ASKING."""
        trusted = self.pool.trust.allowed()

        def ask(wire: NodeWire) -> None:
            wire.begin(trusted)
            wire.verify()
            is_trusted = wire.replid in trusted
            if any(commands[number][0] == "EVALSHA" for number in numbers):
                wire.load_scripts()  # one that is missing would run again without ASKING
            for number in numbers:
                if not is_trusted and commands[number][0] not in ALWAYS:
                    replies[number] = Untrusted("the server is not trusted")
                    continue
                _, replies[number] = wire.ask([("ASKING",), commands[number]])

        error = self._at(address, ask)
        if error is not None:
            _set(replies, numbers, error)

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


def _note(places: list[list[Address | None]], sent: Mapping[Any, Sequence[int]]) -> None:
    for address, numbers in sent.items():
        for number in numbers:
            places[number].append(address)


def _set(replies: Replies, numbers: Numbers, value: Exception) -> None:
    for number in numbers:
        replies[number] = value


def _moves(reply: Any) -> bool:
    return isinstance(reply, AskError)  # or MovedError, which is one


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
