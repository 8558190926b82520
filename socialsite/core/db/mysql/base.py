"""Django's MySQL backend, which checks an idle connection without a round trip.

With CONN_HEALTH_CHECKS each request first pings, which takes as long as a small query. A server
that stops, or ends the connection, closes its side, and the local socket shows that at once. The
backend pings only if the socket has something to read, or if the connection was not used for
UNSEEN_SECONDS (the network may have failed meanwhile without notice).

A connection that is lost while it is opened, or when a transaction begins or ends, is closed.
Django would keep it without its autocommit, take the next transaction for a part of another one,
and never leave that one again: the thread would answer nothing any more.
"""

import contextlib
import select
import time
from collections.abc import Iterator
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.backends.mysql import base
from MySQLdb import Error

UNSEEN_SECONDS = 10.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to MySQL or MariaDB."""

    _seen_at = 0.0

    def connect(self) -> None:
        """Connect, and prepare the connection."""
        with self._closed_if_lost():
            super().connect()

    def set_autocommit(self, *args: Any, **kwargs: Any) -> None:
        """Begin a transaction, or end it."""
        with self._closed_if_lost():
            super().set_autocommit(*args, **kwargs)

    @contextlib.contextmanager
    def _closed_if_lost(self) -> Iterator[None]:
        try:
            yield
        except (Error, OperationalError, InterfaceError):
            self.close()
            raise

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect."""
        self._seen_at = time.monotonic()
        return super().get_new_connection(conn_params)

    def is_usable(self) -> bool:
        """Return whether a query can be sent."""
        now = time.monotonic()
        unseen, self._seen_at = now - self._seen_at, now
        if unseen < UNSEEN_SECONDS and not self.errors_occurred and not self._has_news():
            return True
        return bool(super().is_usable())

    def _has_news(self) -> bool:
        """Return whether the server may have sent or closed something since its last answer."""
        try:
            poll = select.poll()
            poll.register(self.connection.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        except (Error, OSError, ValueError):  # closed on this side
            return True
