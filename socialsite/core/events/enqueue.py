"""Start background work early: a broker message is only a hint, the work itself is in the database.

A broker that is down, full or hanging never fails a request and costs it one short wait at most.
After a failure no hint is sent for a few seconds; periodic sweeps find the work.
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
# A separate connection: a worker's connection may wait for long, and kombu retries for seconds by
# default.
_OPTIONS = {
    "socket_timeout": WAIT_SECONDS,
    "socket_connect_timeout": WAIT_SECONDS,
    "max_retries": 0,
}
# Redis as a broker has a list for each priority; a worker reads the lowest non-empty one.
_FIRST, _LAST = 0, 9
_quiet_until = 0.0
_lock = threading.Lock()
_is_paused: ContextVar[bool] = ContextVar("is_paused", default=False)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Send no hints within the block, for bulk work that runs its background work itself."""
    token = _is_paused.set(True)
    try:
        yield
    finally:
        _is_paused.reset(token)


def send(task: str, *args: object) -> bool:
    """Send a task by name; return False if the broker cannot take it now, never raise."""
    return _enqueue(task, args, _FIRST)


def send_last(task: str, *args: object) -> bool:
    """Send a task with the lowest priority: all other tasks run before it, even later ones."""
    return _enqueue(task, args, _LAST)


def send_before(task: str, expires: float | None) -> bool:
    """Send a task that is void if no worker has taken it within `expires` seconds."""
    return _enqueue(task, (), _FIRST, expires)


def _enqueue(
    task: str, args: tuple[object, ...], priority: int, expires: float | None = None
) -> bool:
    global _quiet_until
    if _is_paused.get() or time.monotonic() < _quiet_until:
        return False
    connection = current_app.connection_for_write(transport_options=_OPTIONS)
    # The transport's library has errors of its own, without a common base class.
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
                expires=expires,
            )
    except trouble as error:
        with _lock:
            _quiet_until = time.monotonic() + PAUSE_SECONDS
        logger.warning("broker unavailable; %s waits for the next sweep: %s", task, error)
        return False
    return True
