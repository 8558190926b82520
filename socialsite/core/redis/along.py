"""What a thread reads along with its next batch of commands."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

# Adds commands to a batch; returns what is called with the replies, whether they came or not.
Join = Callable[[Any], Callable[[], None]]


class _Along(threading.local):
    join: Join | None = None


_along = _Along()


@contextlib.contextmanager
def along(join: Join) -> Iterator[None]:
    """Let `join` add commands to the first batch of the block."""
    _along.join = join
    try:
        yield
    finally:
        _along.join = None


def taken() -> Join | None:
    """Return what waits for a batch; the next batch is without it."""
    join, _along.join = _along.join, None
    return join
