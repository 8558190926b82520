"""A connection of one thread to one server of the cache, which knows the server's id."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import redis
from redis.exceptions import NoScriptError

from socialsite.core.redis.sharded.topology import Address, fields_of, replication
from socialsite.core.redis.splits import Command
from socialsite.core.redis.wire import Wire

if TYPE_CHECKING:
    from socialsite.core.redis.sharded.wires import Servers

IDENTITY = ("INFO", "replication")


class NodeWire(Wire):
    """A connection to one server, which knows the server's id."""

    VERIFY_SECONDS = 0.5

    def __init__(self, servers: "Servers", address: Address) -> None:
        super().__init__(servers.pool(address))
        self._servers, self._address = servers, address
        self.replid = ""
        self._verified = 0.0
        self._is_asking = False

    def begin(self, trusted: frozenset[str]) -> bool:
        """Settle what was posted, connect if necessary; return whether the server is trusted.

        The id of a server that is not trusted is asked for again, since it may have a new one.
        """
        self._settle()
        self._prepare()
        if self.replid not in trusted and self._is_old:
            self.verify()
        return self.replid in trusted

    @property
    def _is_old(self) -> bool:
        return time.monotonic() - self._verified > self.VERIFY_SECONDS

    def send(self, commands: Sequence[Command]) -> None:
        """Send commands whose replies are read next, and ask for the id if it is old."""
        self._is_asking = self._is_old
        self._send([IDENTITY, *commands] if self._is_asking else commands)

    def read_all(self, commands: Sequence[Command]) -> list[Any]:
        """Return the replies of commands that were sent; missing scripts are loaded."""
        if self._is_asking:
            self._is_asking = False
            first, *found = self.read(1 + len(commands))
            self._identify(first)
        else:
            found = self.read(len(commands))
        unknown = [n for n, reply in enumerate(found) if isinstance(reply, NoScriptError)]
        if unknown:  # a new or emptied server
            self.load_scripts()
            again = self.ask([commands[n] for n in unknown])
            for number, reply in zip(unknown, again, strict=True):
                found[number] = reply
        return found

    def load_scripts(self) -> None:
        """Load all scripts."""
        self.ask([("SCRIPT", "LOAD", one.text) for one in self._servers.scripts.values()])

    def _settle(self) -> None:
        """Read the replies of posted commands: a thread's reads run after its earlier writes."""
        if not self.posted:
            return
        posted, self.posted = self.posted, ()
        with suppress(redis.ConnectionError, redis.TimeoutError):  # then there are none
            self.read_all(posted)

    def _connect(self) -> None:
        super()._connect()
        self._used, self._is_asking = time.monotonic(), False
        self.verify()

    def verify(self) -> None:
        """Ask the server for its id."""
        (reply,) = self.ask([IDENTITY])
        self._identify(reply)

    def _identify(self, reply: Any) -> None:
        self._verified = time.monotonic()
        if isinstance(reply, Exception):
            raise reply
        found = replication(fields_of(reply))
        # A replica has its master's id.
        self.replid = found.replid if found.is_master else ""
        self._servers.replids[self._address] = self.replid
