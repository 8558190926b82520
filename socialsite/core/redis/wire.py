"""The connections of threads to Redis, apart from the client's pool."""

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import hiredis
import redis


class Wire:
    """A connection of one thread, apart from the pool, made as the pool makes them.

    The client's pipeline takes longer than Redis does.
    """

    IDLE_SECONDS = 1.0

    def __init__(self, pool: Any) -> None:
        self.pool, self.process = pool, os.getpid()
        # Commands whose answers are still to be read.
        self.posted: Sequence[Sequence[Any]] = ()
        self._connection = pool.connection_class(**pool.connection_kwargs)
        self._used = 0.0
        # Whether answers may be on their way: more than `posted` if one was cut off in between.
        self._is_awaiting = False

    def ask(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Send commands and return their replies."""
        self._send(commands)
        return self.read(len(commands))

    def post(self, commands: Sequence[Sequence[Any]]) -> None:
        """Send commands; their answers have to be read before anything else is asked."""
        self._send(commands)
        self.posted = commands

    def read(self, count: int) -> list[Any]:
        """Return so many replies; an error of Redis is one."""
        replies: list[Any] = []
        try:
            for _ in range(count):
                try:
                    replies.append(self._connection.read_response())
                except redis.ResponseError as error:
                    replies.append(error)
        except BaseException:  # what is left to read must not be taken for another's answer
            self._connection.disconnect()
            raise
        self._is_awaiting = False
        return replies

    def _send(self, commands: Sequence[Sequence[Any]]) -> None:
        """Send, on a connection that was looked at if it was idle: Redis may have hung up."""
        packed = [hiredis.pack_command(tuple(command)) for command in commands]
        now = time.monotonic()
        if self._is_awaiting:  # nobody reads those any more
            self._connection.disconnect()
        if not self._connection.is_connected:
            self._connection.connect()
        elif now - self._used > self.IDLE_SECONDS and not self._is_quiet():
            self._connection.disconnect()
            self._connection.connect()
        self._used, self._is_awaiting = now, True
        self._connection.send_packed_command([b"".join(packed)])

    def _is_quiet(self) -> bool:
        try:
            return not self._connection.can_read()
        except (redis.RedisError, OSError):
            return False


class _Local(threading.local):
    wire: Wire | None = None


_local = _Local()


def wire_of(pool: Any) -> Wire:
    """Return this thread's wire; a fork must not talk on its parent's."""
    wire = _local.wire
    if wire is None or wire.pool is not pool or wire.process != os.getpid():
        wire = _local.wire = Wire(pool)
    return wire
