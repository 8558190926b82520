"""Per-thread connections to Redis, separate from the client's pool."""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import hiredis
import redis
from redis.exceptions import NoScriptError

from socialsite.core.redis.scripts import SCRIPTS


class Wire:
    """A connection of one thread, outside the pool, created the way the pool does.

    The client's pipeline takes longer than Redis does.
    """

    IDLE_SECONDS = 1.0

    def __init__(self, pool: Any) -> None:
        self.pool, self.process = pool, os.getpid()
        # Sent commands whose replies are still unread.
        self.posted: Sequence[Sequence[Any]] = ()
        self._connection = pool.connection_class(**pool.connection_kwargs)
        self._used = 0.0
        # True if replies may be on their way: more than `posted` if a send was interrupted.
        self._is_awaiting = False

    def ask(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands and return their replies."""
        self._send(commands)
        return self.replies(commands)

    def replies(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the replies of commands that were sent; those with a missing script run again."""
        replies = self.read(len(commands))
        unknown = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unknown:  # a new or emptied Redis
            self.load_scripts()
            again = self._run([commands[number] for number in unknown])
            for number, reply in zip(unknown, again, strict=True):
                replies[number] = reply
        return replies

    def load_scripts(self) -> None:
        """Load all scripts."""
        self._run([("SCRIPT", "LOAD", script.text) for script in SCRIPTS.values()])

    def settle(self) -> None:
        """Read the replies of posted commands, so that a thread's reads run after its writes.

        A broken wire has none.
        """
        if self.posted:
            posted, self.posted = self.posted, ()
            with suppress(redis.ConnectionError):
                self.replies(posted)

    def _run(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        self._send(commands)
        return self.read(len(commands))

    def post(self, commands: Sequence[Sequence[Any]]) -> None:
        """Send commands; their replies must be read before anything else is sent."""
        self._send(commands)
        self.posted = commands

    def read(self, count: int) -> list[Any]:
        """Return this many replies; an error of Redis is returned as one."""
        replies: list[Any] = []
        try:
            for _ in range(count):
                try:
                    replies.append(self._connection.read_response())
                except redis.ResponseError as error:
                    replies.append(error)
        except BaseException:  # unread replies must not be taken for those of another command
            self._connection.disconnect()
            raise
        self._is_awaiting = False
        return replies

    def _send(self, commands: Sequence[Sequence[Any]]) -> None:
        """Send; an idle connection is checked first, because Redis may have closed it."""
        packed = [hiredis.pack_command(tuple(command)) for command in commands]
        self._prepare()
        self._is_awaiting = True
        self._connection.send_packed_command([b"".join(packed)])

    def _prepare(self) -> None:
        """Connect, unless there is a connection on which nothing is left to read."""
        now = time.monotonic()
        if self._is_awaiting:  # nobody reads those replies any more
            self._connection.disconnect()
        if not self._connection.is_connected:
            self._connect()
        elif now - self._used > self.IDLE_SECONDS and not self._is_quiet():
            self._connection.disconnect()
            self._connect()
        self._used = now

    def _connect(self) -> None:
        self._connection.connect()
        self._is_awaiting = False

    def _is_quiet(self) -> bool:
        try:
            return not self._connection.can_read()
        except (redis.RedisError, OSError):
            return False


class _Local(threading.local):
    wire: Any = None


_local = _Local()


def wire_of(pool: Any) -> Any:
    """Return this thread's wire; a fork must not use its parent's.

    The pool of several servers makes its own kind.
    """
    wire = _local.wire
    if wire is None or wire.pool is not pool or wire.process != os.getpid():
        wire = _local.wire = getattr(pool, "make_wire", partial(Wire, pool))()
    return wire
