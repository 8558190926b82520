"""Django's backend for MySQL, but that it sees whether a connection still stands without asking.

With CONN_HEALTH_CHECKS each request first pings, which takes as long as a small query. A server
that has gone, or has ended the connection, has closed its side, and that the socket tells at once.
Where it tells anything, or was not looked at for UNSEEN_SECONDS (a network may have been cut
meanwhile, of which nobody tells), the ping decides.
"""

import select
import time
from typing import Any

from django.db.backends.mysql import base
from MySQLdb import Error

UNSEEN_SECONDS = 10.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to MySQL or MariaDB."""

    _seen_at = 0.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect."""
        self._seen_at = time.monotonic()
        return super().get_new_connection(conn_params)

    def is_usable(self) -> bool:
        """Whether a query can be sent."""
        now = time.monotonic()
        unseen, self._seen_at = now - self._seen_at, now
        if unseen < UNSEEN_SECONDS and not self.errors_occurred and not self._has_news():
            return True
        return bool(super().is_usable())

    def _has_news(self) -> bool:
        """Whether the server said or closed something since its last answer, or may have."""
        try:
            poll = select.poll()
            poll.register(self.connection.fileno(), select.POLLIN)
            return bool(poll.poll(0))
        except (Error, OSError, ValueError):  # closed from this side
            return True
