"""Run something while a page reads the database."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from socialsite.core import db


@contextlib.contextmanager
def at_a_read_of(
    table: str, act: Callable[[], Any], *, after: bool = False, number: int = 1
) -> Iterator[None]:
    """Act once, just before (or after) the first (or another) statement that reads a table."""
    real, left = db.read_union, [number]

    def read(*statements: db.Statement) -> Any:
        if left[0] and any(table in statement.sql for statement in statements):
            left[0] -= 1
            if not left[0] and after:
                found = real(*statements)
                act()
                return found
            if not left[0]:
                act()
        return real(*statements)

    with mock.patch.object(db, "read_union", read):
        yield
    assert left == [0], f"{table} was not read"
