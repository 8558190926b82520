"""The database that the reads of this task go to: the primary, unless `replicas` says otherwise.

Writes, locks and transactions always use the primary.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

_reading: ContextVar[str] = ContextVar("reading", default=DEFAULT_DB_ALIAS)


class Router:
    """Django's router of the databases in settings."""

    def db_for_read(self, _model: Any, **_hints: Any) -> str:
        """Return the alias of the database for a read, wherever the object came from."""
        return _reading.get()

    def db_for_write(self, _model: Any, **_hints: Any) -> str:
        """Return the primary."""
        return DEFAULT_DB_ALIAS

    def allow_relation(self, *_objects: Any, **_hints: Any) -> bool:
        """Allow relations between objects, as all databases have the same ones."""
        return True

    def allow_migrate(self, db: str, *_names: Any, **_hints: Any) -> bool:
        """Allow changes of tables on the primary; they reach the replicas from there."""
        return db == DEFAULT_DB_ALIAS


def read_connection() -> Any:
    """Return the connection for a read in SQL."""
    return connections[_reading.get()]


@contextlib.contextmanager
def reading_from(alias: str) -> Iterator[None]:
    """Send the reads of a block to a database."""
    token = _reading.set(alias)
    try:
        yield
    finally:
        _reading.reset(token)
