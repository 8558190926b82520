"""Hints to the broker: never an error, never a long wait, a pause after a failure."""

import contextlib
import socket
import threading
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from celery import Celery, current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from socialsite.core.events import enqueue
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(enqueue, "_quiet_until", 0.0)


@pytest.fixture
def broker(monkeypatch):
    """The tasks that were sent and the number of attempts; sending raises `error`."""
    found = SimpleNamespace(sent=[], tried=0, error=None)

    def send_task(name: str, **kwargs) -> None:
        found.tried += 1
        if found.error:
            raise found.error
        found.sent.append(name)

    monkeypatch.setattr(current_app, "send_task", send_task)
    return found


def test_enqueue_sends_the_task(broker) -> None:
    assert enqueue.send("core.relay_events")
    assert broker.sent == ["core.relay_events"]


def test_after_a_failure_it_is_quiet_for_a_while_and_then_tries_again(broker, monkeypatch) -> None:
    broker.error = OperationalError("down")
    assert [enqueue.send("a"), enqueue.send("a"), enqueue.send("a")] == [False] * 3
    assert broker.tried == 1
    broker.error = None
    monkeypatch.setattr(enqueue, "_quiet_until", time.monotonic() - 1)
    assert enqueue.send("a")


@pytest.mark.skipif(settings.EMBEDDED, reason="these are errors of the Redis transport")
@pytest.mark.parametrize(
    "error",
    [redis.ConnectionError("cut"), redis.TimeoutError("hangs"), redis.OutOfMemoryError("full")],
)
def test_no_trouble_of_a_broker_reaches_the_caller(broker, error) -> None:
    broker.error = error
    assert enqueue.send("a") is False


def test_a_mistake_of_ours_is_not_hidden(broker) -> None:
    broker.error = TypeError("not a task")
    with pytest.raises(TypeError):
        enqueue.send("a")


@pytest.fixture
def _patient(monkeypatch) -> None:
    """Give the broker the time that a busy machine needs."""
    for name in ("socket_timeout", "socket_connect_timeout"):
        monkeypatch.setitem(enqueue._OPTIONS, name, LIMIT)
    monkeypatch.setattr(enqueue, "WAIT_SECONDS", LIMIT)


@pytest.mark.usefixtures("_patient")
def test_enqueue_reaches_the_broker() -> None:
    with current_app.connection_for_read() as connection:
        queue = connection.SimpleQueue("celery")
        queue.clear()
        assert enqueue.send("core.nothing", 7)
        message = queue.get(timeout=LIMIT)
        message.ack()
        assert message.headers["task"] == "core.nothing"
        assert message.payload[0] == [7]


@pytest.mark.usefixtures("_patient")
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded broker has one list")
def test_low_priority_tasks_run_after_later_urgent_ones() -> None:
    with current_app.connection_for_read() as connection:
        queue = connection.SimpleQueue("celery")
        queue.clear()
        assert enqueue.send_last("core.nothing", 1)
        assert enqueue.send("core.nothing", 2)
        found = [queue.get(timeout=LIMIT) for _ in range(2)]
        for message in found:
            message.ack()
        assert [message.payload[0] for message in found] == [[2], [1]]


@pytest.fixture
def app_at():
    """A Celery app with the site's settings and another broker."""

    def make(port: int) -> Celery:
        app = Celery("elsewhere", set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        parts = urlsplit(settings.CELERY_BROKER_URL)
        account = parts.netloc.rpartition("@")[0]
        conf: Any = app.conf  # the stubs say that a setting cannot be set
        conf.broker_url = parts._replace(
            netloc=f"{account}{'@' if account else ''}127.0.0.1:{port}"
        ).geturl()
        return app

    return make


@pytest.fixture
def calls(monkeypatch) -> list[float]:
    """The timeouts of each broker call: for its connection, and for its answer."""
    found: list[float] = []
    connect = redis.connection.Connection._connect

    def counted(self):
        assert self.socket_timeout == self.socket_connect_timeout
        found.append(self.socket_timeout)
        return connect(self)

    monkeypatch.setattr(redis.connection.Connection, "_connect", counted)
    return found


@pytest.mark.full
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded broker has no socket")
def test_a_broker_that_is_down_costs_little(app_at, calls, monkeypatch) -> None:
    monkeypatch.setattr(enqueue, "PAUSE_SECONDS", 3600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(enqueue, "current_app", app_at(port))
    assert not any(enqueue.send("core.relay_events") for _ in range(100))
    assert calls == [enqueue.WAIT_SECONDS]


@pytest.mark.full
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded broker has no socket")
def test_a_broker_that_hangs_costs_one_bounded_wait(app_at, calls, monkeypatch) -> None:
    monkeypatch.setattr(enqueue, "PAUSE_SECONDS", 3600)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(enqueue, "current_app", app_at(server.getsockname()[1]))
        start = time.monotonic()
        assert enqueue.send("core.relay_events") is False
        assert time.monotonic() - start >= enqueue.WAIT_SECONDS
        assert enqueue.send("core.relay_events") is False
        assert calls == [enqueue.WAIT_SECONDS]


@pytest.mark.full
@pytest.mark.usefixtures("_patient")
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded broker has no socket")
def test_a_broker_that_dies_after_it_was_reached_is_no_error(app_at, monkeypatch) -> None:
    broker = urlsplit(settings.CELERY_BROKER_URL)
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def pump(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, far = (
                    server.accept()[0],
                    socket.create_connection((broker.hostname, broker.port)),
                )
                held.extend([near, far])
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    port = server.getsockname()[1]
    monkeypatch.setattr(enqueue, "current_app", app_at(port))
    assert enqueue.send("core.nothing") is True
    for end in (server, *held):  # a close alone does not wake waiting threads
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
    assert enqueue.send("core.nothing") is False


@pytest.mark.full
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded broker has no socket")
def test_a_worker_that_loses_its_broker_drops_tasks_it_had_not_begun() -> None:
    """It closes the lost connection; sending the messages back over it once ended the worker."""
    connection = current_app.connection_for_read()
    queue = connection.SimpleQueue("test-lost")
    queue.put("a hint")
    queue.get(timeout=LIMIT)  # received, not acknowledged
    channel: Any = queue.channel
    connection.transport.client = None  # the state after `collect`, which is tried before
    channel.close()
    connection.close()
