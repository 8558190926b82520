"""Hurrying background work: a message to the broker is a hint, the work itself is in the database.

A broker that is down, full or hanging never fails a request and costs it one short wait at most:
after a failure nothing is sent for a few seconds, and the sweepers find the work.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from celery import current_app
from kombu import pools
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 3.0
WAIT_SECONDS = 0.3
# A connection of its own: a worker's may wait for long, and kombu by default tries for seconds.
_OPTIONS = {
    "socket_timeout": WAIT_SECONDS,
    "socket_connect_timeout": WAIT_SECONDS,
    "max_retries": 0,
}
# Redis as a broker has a list for each, and a worker takes from the lowest that has a message.
_FIRST, _LAST = 0, 9
_quiet_until = 0.0
_lock = threading.Lock()
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Ring nothing within: for bulk work that runs its background work itself."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def ring(task: str, *args: object) -> bool:
    """Send a task by name; False when the broker cannot take it now, never an error."""
    return _send(task, args, _FIRST)


def ring_last(task: str, *args: object) -> bool:
    """Send a task that every other one goes before, also those that are sent later."""
    return _send(task, args, _LAST)


def _send(task: str, args: tuple[object, ...], priority: int) -> bool:
    global _quiet_until
    if _silent.get() or time.monotonic() < _quiet_until:
        return False
    connection = current_app.connection_for_write(transport_options=_OPTIONS)
    # Errors of the transport's own library, too: they are of no common family.
    trouble: tuple[type[BaseException], ...] = (
        KombuError,
        OSError,
        *connection.connection_errors,
        *connection.channel_errors,
    )
    try:
        with pools.producers[connection].acquire(block=True, timeout=WAIT_SECONDS) as producer:
            current_app.send_task(
                task,
                args=args,
                producer=producer,
                retry=False,
                ignore_result=True,
                priority=priority,
            )
    except trouble as error:
        with _lock:
            _quiet_until = time.monotonic() + PAUSE_SECONDS
        logger.warning("broker unavailable, the sweeper will run %s: %s", task, error)
        return False
    return True
