"""A connection of one thread to one server of the cache, which knows the server's id."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from socialsite.core.redis.sharded.slots import NONE, Slots
from socialsite.core.redis.sharded.splitting import Command
from socialsite.core.redis.sharded.topology import fields_of, replication
from socialsite.core.redis.wire import Wire

IDENTITY = ("INFO", "replication")


class NodeWire(Wire):
    """A connection to one server, which knows the server's id."""

    VERIFY_SECONDS = 0.5

    def __init__(self, pool: Any) -> None:
        super().__init__(pool)
        self.replid = ""
        self._verified = 0.0
        self._is_asking = False

    def begin(self, allowed: Mapping[str, Slots]) -> Slots:
        """Settle what was posted, connect if necessary; return the slots that may be used here.

        The id of a server that is not trusted is asked for again, since it may have a new one.
        """
        self.settle()
        self._prepare()
        if self.replid not in allowed and self._is_old:
            self.verify()
        return allowed.get(self.replid, NONE)

    @property
    def _is_old(self) -> bool:
        return time.monotonic() - self._verified > self.VERIFY_SECONDS

    def send(self, commands: Sequence[Command]) -> None:
        """Send commands whose replies are read next, and ask for the id if it is old."""
        self._is_asking = self._is_old
        self._send([IDENTITY, *commands] if self._is_asking else commands)

    def read(self, count: int) -> list[Any]:
        """Return this many replies to what was sent."""
        if not self._is_asking:
            return super().read(count)
        self._is_asking = False
        first, *found = super().read(1 + count)
        self._identify(first)
        return found

    def _connect(self) -> None:
        super()._connect()
        self._used, self._is_asking = time.monotonic(), False
        self.verify()

    def verify(self) -> None:
        """Ask the server for its id."""
        (reply,) = self._run([IDENTITY])
        self._identify(reply)

    def _identify(self, reply: Any) -> None:
        self._verified = time.monotonic()
        if isinstance(reply, Exception):
            raise reply
        found = replication(fields_of(reply))
        # A replica has its master's id.
        self.replid = found.replid if found.is_master else ""
