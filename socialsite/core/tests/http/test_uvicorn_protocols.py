"""uvicorn's protocols with limits on the size and duration of requests."""

import asyncio
import base64
import logging
import os
import socket
import struct
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import pytest
import uvicorn

from socialsite.core.http.server import uvicorn_protocols
from socialsite.core.http.server.uvicorn_protocols import BoundedHttp, BoundedSocket
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = pytest.mark.once

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
CONNECTIONS = 30


class Clock:
    """The event loop of a connection, whose time stands still unless a test moves `now`."""

    now = 1000.0

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        return Clock.now


class WatchedHttp(BoundedHttp):
    """The same, by the clock of the tests and with more checks of it."""

    CHECK_SECONDS = 0.02
    live: ClassVar[list["WatchedHttp"]] = []
    checks = heard = 0

    def connection_made(self, transport: Any) -> None:
        self.live.append(self)
        self.loop: Any = Clock(self.loop)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._leave()
        super().handle_websocket_upgrade()

    def _leave(self) -> None:
        if self in self.live:
            self.live.remove(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.heard += len(data)

    def _check(self) -> None:
        super()._check()
        self.checks += 1

    def has(self, *, heard: int = 0, checks: int = 0) -> bool:
        """Return whether it was reached or the connection has closed."""
        return (self.heard >= heard and self.checks >= checks) or self not in self.live


def later(seconds: float) -> None:
    """Let time pass, until every connection was checked at the new time."""
    Clock.now += seconds
    for one in [*WatchedHttp.live]:
        # The first check may have begun before.
        eventually(partial(one.has, checks=one.checks + 2))


def alone() -> WatchedHttp:
    """Return the one connection of a test, once the server has it."""
    eventually(lambda: len(WatchedHttp.live), lambda count: count == 1)
    return WatchedHttp.live[0]


def heard(count: int) -> None:
    """Wait until the server has received this many bytes of the connection, or has closed it."""
    eventually(partial(alone().has, heard=count))


class Site:
    """A server with a tiny application."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_answer = threading.Semaphore(0)
        self.received: list[Any] = []
        config = uvicorn.Config(
            self.application,
            interface="asgi3",
            http=WatchedHttp,
            ws=BoundedSocket,
            lifespan="off",
            log_level="warning",
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=3600,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listener],))
        self.thread.start()

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer depending on the path."""
        try:
            if scope["type"] == "websocket":
                await self.echo(receive, send)
                return
            self.begun.append(scope["path"])
            if scope["path"] == "/slow":
                while not self.may_answer.acquire(blocking=False):
                    await asyncio.sleep(0.01)
            elif scope["path"] != "/unread":
                while (await receive()).get("more_body"):
                    pass
            parts = 200 if scope["path"] == "/large" else 1
            await send({"type": "http.response.start", "status": 200})
            for number in range(parts):
                body = b"ok" if parts == 1 else bytes(100_000)
                more = number < parts - 1
                await send({"type": "http.response.body", "body": body, "more_body": more})
        finally:
            self.ended.append(scope["path"])

    async def echo(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            self.received.append(message)
            if message["type"] == "websocket.disconnect":
                return
            await send({"type": "websocket.send", "text": "heard"})

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.listener.getsockname())
        connection.settimeout(LIMIT)
        return connection

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(LIMIT)
        self.listener.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    running = Site()
    yield running
    running.stop()


@pytest.fixture
def connection(site: Site) -> Iterator[socket.socket]:
    eventually(lambda: WatchedHttp.live, lambda live: not live)  # those of the test before
    with site.connect() as found:
        yield found


def read(connection: socket.socket) -> bytes:
    """Read until the server closes; raises TimeoutError if it does not."""
    found = b""
    try:
        while part := connection.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


def drip(connection: socket.socket, byte: bytes = b"x", each: float = 4.0) -> tuple[float, bytes]:
    """Send something each few seconds until the server closes; return when, and its response."""
    one, began = alone(), Clock.now
    try:
        while one in WatchedHttp.live:
            assert Clock.now < began + 1000, "the connection stays open"
            more = partial(one.has, heard=one.heard + 1)
            connection.send(byte)
            eventually(more)
            later(each)
    except OSError:
        pass  # it has closed
    return Clock.now - began, read(connection)


def headers(count: int) -> bytes:
    return HEAD + b"".join(b"x-%d: y\r\n" % number for number in range(count - 1)) + b"\r\n"


# --- sizes --------------------------------------------------------------------------------------
def test_a_request_may_have_as_many_headers_as_the_limit(connection: socket.socket) -> None:
    connection.sendall(headers(uvicorn_protocols.HEADERS_MAX))
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "head",
    [
        headers(uvicorn_protocols.HEADERS_MAX + 1),
        headers(5000),
        HEAD + b"x: " + b"y" * uvicorn_protocols.HEAD_BYTES + b"\r\n\r\n",
        HEAD + b"x" * uvicorn_protocols.HEAD_BYTES + b": y\r\n\r\n",
        b"GET /" + b"x" * uvicorn_protocols.HEAD_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        POST.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked")
        + b"0\r\n"
        + b"x: y\r\n" * 5000
        + b"\r\n",
    ],
    ids=["headers", "thousands", "value", "name", "address", "trailers"],
)
def test_a_head_that_is_too_large_is_refused(connection: socket.socket, head: bytes) -> None:
    connection.sendall(head)
    answer = read(connection)
    assert b"Host" not in answer
    assert answer.startswith(b"HTTP/1.1 431") or b"Transfer" in head
    assert b"200 OK" not in answer


def test_a_header_that_never_ends_is_refused(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"x" * uvicorn_protocols.HEAD_BYTES)
    assert read(connection).startswith(b"HTTP/1.1 431")


def test_few_requests_wait_for_the_answer_before_them(
    site: Site, connection: socket.socket
) -> None:
    site.ended.clear()
    connection.sendall(HEAD.replace(b"/ ", b"/slow ") + b"\r\n" + (HEAD + b"\r\n") * 500)
    read(connection)
    site.may_answer.release()
    eventually(lambda: "/slow" in site.ended)
    assert len(site.ended) <= uvicorn_protocols.PIPELINE_MAX + 1


def test_connections_over_the_limit_are_closed(site: Site) -> None:
    opened = [site.connect() for _ in range(CONNECTIONS + 20)]
    try:
        assert [connection for connection in opened[-10:] if read(connection)] == []
    finally:
        for connection in opened:
            connection.close()


# --- durations ----------------------------------------------------------------------------------
def test_requests_that_are_worked_on_for_long_are_answered(
    site: Site, connection: socket.socket
) -> None:
    site.begun.clear()
    connection.sendall((HEAD.replace(b"/ ", b"/slow ") + b"\r\n") * 2)
    found = b""
    for number in (1, 2):
        eventually(lambda: len(site.begun), number.__eq__)
        later(1000)
        site.may_answer.release()
        while found.count(b"ok") < number:
            part = connection.recv(1000)
            assert part, "closed while it was worked on"
            found += part
    assert found.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (b"", BoundedHttp.HEAD_SECONDS),
        (b"G", BoundedHttp.HEAD_SECONDS),
        (HEAD, BoundedHttp.HEAD_SECONDS),
        (POST, BoundedHttp.BODY_PAUSE_SECONDS),
        (POST + b"x" * 50, BoundedHttp.BODY_PAUSE_SECONDS),
    ],
)
def test_a_silent_client_is_disconnected(
    connection: socket.socket, sent: bytes, seconds: float
) -> None:
    connection.sendall(sent)
    heard(len(sent))
    later(seconds - 0.1)
    assert len(WatchedHttp.live) == 1
    later(0.2)
    assert read(connection) == b""


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (HEAD, BoundedHttp.HEAD_SECONDS),
        (HEAD + b"x: ", BoundedHttp.HEAD_SECONDS),
        (POST.replace(b"100", b"1000000"), BoundedHttp.BODY_SECONDS),
    ],
)
def test_a_client_that_sends_a_byte_from_time_to_time_is_cut_off(
    connection: socket.socket, sent: bytes, seconds: float
) -> None:
    connection.sendall(sent)
    heard(len(sent))
    each = min(20.0, seconds / 4)
    took, answer = drip(connection, each=each)
    assert seconds <= took < seconds + 2 * each
    assert answer == b""


def test_line_ends_after_a_response_do_not_extend_the_connection(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    took, _ = drip(connection, b"\r\n")
    assert took < BoundedHttp.HEAD_SECONDS + 8


def test_the_rest_of_a_body_that_nobody_reads_is_not_waited_for(
    connection: socket.socket,
) -> None:
    head = POST.replace(b"POST /", b"POST /unread").replace(b"100", b"1000000000")
    connection.sendall(head)
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    took, _ = drip(connection)
    assert took < BoundedHttp.LINGER_SECONDS + 8


@pytest.mark.parametrize("extra", [b"", b"Connection: close\r\n"])
def test_the_answer_to_a_body_that_nobody_reads_arrives(
    connection: socket.socket, extra: bytes
) -> None:
    head = POST.replace(b"POST /", b"POST /unread").replace(b"100", b"8000000")
    sent = head.replace(b"\r\n\r\n", b"\r\n" + extra + b"\r\n") + bytes(8_000_000)
    connection.sendall(sent)
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    if not extra:
        heard(len(sent))
        later(BoundedHttp.HEAD_SECONDS + 1)
    read(connection)


def test_a_client_that_does_not_read_is_cut_off(site: Site, connection: socket.socket) -> None:
    site.ended.clear()
    connection.sendall(HEAD.replace(b"/ ", b"/large ") + b"\r\n")
    alone()
    # As long as buffers of the system take more, the time begins anew.
    eventually(lambda: later(BoundedHttp.WRITE_SECONDS + 1) or site.ended == ["/large"])
    assert len(read(connection)) < 200 * 100_000


# --- sockets ------------------------------------------------------------------------------------
def frame(opcode: int, payload: bytes = b"", *, final: bool = True) -> bytes:
    """Return a masked frame of a client; the mask is zeros."""
    return (
        struct.pack("!BB", (0x80 if final else 0) | opcode, 0x80 | len(payload))
        + bytes(4)
        + payload
    )


@pytest.fixture
def opened(connection: socket.socket) -> socket.socket:
    """An accepted WebSocket."""
    key = base64.b64encode(os.urandom(16))
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    connection.sendall(HEAD + upgrade + b"Sec-WebSocket-Key: " + key + b"\r\n\r\n")
    assert connection.recv(2000).startswith(b"HTTP/1.1 101")
    return connection


def code(said: bytes) -> int:
    """Return the code of the close frame at the end."""
    at = said.rindex(b"\x88")
    return int(struct.unpack("!H", said[at + 2 : at + 4])[0])


def test_a_socket_is_not_bound_by_request_timeouts(opened: socket.socket) -> None:
    later(1000)
    opened.sendall(frame(1, b"hi"))
    assert opened.recv(100).endswith(b"heard")


def test_a_message_of_many_empty_fragments_is_refused(opened: socket.socket) -> None:
    opened.sendall(frame(1, final=False) + frame(0, final=False) * 1000)
    assert code(read(opened)) == 1009


def test_a_message_of_a_few_fragments_is_taken(opened: socket.socket) -> None:
    opened.sendall(frame(1, b"a", final=False) + frame(0, b"b", final=False) * 20 + frame(0))
    assert opened.recv(100).endswith(b"heard")


def test_a_client_may_ping_and_may_not_flood(opened: socket.socket) -> None:
    opened.sendall(frame(9, b"ping"))
    assert opened.recv(100) == b"\x8a\x04ping"
    opened.sendall(frame(9) * 1000)
    assert code(read(opened)) == 1008


def test_text_that_is_no_text_ends_a_socket_without_a_traceback(
    opened: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    uvicorns = logging.getLogger("uvicorn.error")
    uvicorns.addHandler(caplog.handler)
    try:
        opened.sendall(frame(1, b"\xff\xfe"))
        assert code(read(opened)) == 1007
    finally:
        uvicorns.removeHandler(caplog.handler)
    assert not caplog.records
