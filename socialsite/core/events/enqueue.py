"""Start background work early: a broker message is only a hint, the work itself is in the database.

A broker that is down, full or hanging never fails a request and costs it one short wait at most.
After a failure no hint is sent for a few seconds; periodic sweeps find the work.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

import amqp
from celery import current_app
from kombu import Connection, pools
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 3.0
WAIT_SECONDS = 0.3
# The next server of RabbitMQ is tried at once if one has refused within this time.
QUICK_SECONDS = 0.1
# A separate connection: a worker's connection may wait for long, and kombu retries for seconds by
# default.
_OPTIONS = {
    "socket_timeout": WAIT_SECONDS,
    "socket_connect_timeout": WAIT_SECONDS,
    "max_retries": 0,
    "confirm_publish": True,  # of RabbitMQ: a server without the others takes no message
}
# Sentinels know where Redis is. One of them and Redis, both away, take no longer than one server.
_SENTINEL_SHARE = 1 / 3
# Redis as a broker has a list for each priority; a worker reads the lowest non-empty one.
_FIRST, _LAST = 0, 9
_quiet_until = 0.0
# The servers that failed one after the other, and the number of the one that is tried next.
_failed = 0
_next = os.getpid()  # so that processes begin with different ones
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
    if _is_paused.get() or time.monotonic() < _quiet_until:
        return False
    began = time.monotonic()
    servers = _servers()
    for _ in servers:
        number = _next % len(servers)
        connection = _connection(servers[number])
        try:
            _send(connection, task, args, priority, expires)
        except _trouble(connection) as error:
            if _note_failure(number, len(servers)) or time.monotonic() > began + QUICK_SECONDS:
                logger.warning("broker unavailable; %s waits for the next sweep: %s", task, error)
                return False
        else:
            _note_success()
            return True
    return False


def _servers() -> list[str]:
    """Return the addresses of which each is tried alone; Sentinels are asked together."""
    url = str(current_app.conf.broker_url)
    return url.split(";") if url.startswith("amqp") else [url]


def _connection(server: str) -> Connection:
    options: dict[str, object] = dict(_OPTIONS)
    if sentinels := current_app.conf.broker_transport_options.get("sentinel_kwargs"):
        share = WAIT_SECONDS * _SENTINEL_SHARE
        short = {"socket_timeout": share, "socket_connect_timeout": share}
        rest = WAIT_SECONDS - share
        options |= {"socket_timeout": rest, "socket_connect_timeout": rest}
        options["sentinel_kwargs"] = {**sentinels, **short}
    return current_app.connection_for_write(server, transport_options=options)


def _trouble(connection: Connection) -> tuple[type[BaseException], ...]:
    """Return the errors of a transport; its library has its own, without a common base class."""
    return (
        KombuError,
        OSError,
        amqp.exceptions.MessageNacked,
        *connection.connection_errors,
        *connection.channel_errors,
    )


def _send(
    connection: Connection,
    task: str,
    args: tuple[object, ...],
    priority: int,
    expires: float | None,
) -> None:
    is_amqp = connection.transport.driver_type == "amqp"
    with pools.producers[connection].acquire(block=True, timeout=WAIT_SECONDS) as producer:
        try:
            current_app.send_task(
                task,
                args=args,
                producer=producer,
                retry=False,
                ignore_result=True,
                priority=_LAST - priority if is_amqp else priority,  # RabbitMQ counts upwards
                expires=expires,
            )
        except BaseException:
            if is_amqp:  # a polite end of the connection would wait for the server again
                producer.connection.collect()
            raise


def _note_failure(number: int, servers: int) -> bool:
    """Try the next server from now on; return True after all have failed, and be quiet then."""
    global _failed, _next, _quiet_until
    with _lock:
        _next = number + 1
        _failed += 1
        if _failed < servers:
            return False
        _failed = 0
        _quiet_until = time.monotonic() + PAUSE_SECONDS
        return True


def _note_success() -> None:
    global _failed
    _failed = 0
