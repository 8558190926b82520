"""uvicorn's protocols with limits on the size and duration of requests."""

import asyncio
import base64
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from socialsite.core.http.server import uvicorn_protocols
from socialsite.core.http.server.uvicorn_protocols import BoundedHttp, BoundedSocket

pytestmark = pytest.mark.once

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
CONNECTIONS = 30
SHORT = 0.3


class HurriedHttp(BoundedHttp):
    """The same with short deadlines."""

    HEAD_SECONDS = BODY_PAUSE_SECONDS = WRITE_SECONDS = SHORT
    LINGER_SECONDS = 2.0
    BODY_SECONDS = 3 * SHORT
    CHECK_SECONDS = 0.02


class Site:
    """A server with a tiny application."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.ended: list[str] = []
        self.received: list[Any] = []
        config = uvicorn.Config(
            self.application,
            interface="asgi3",
            http=HurriedHttp,
            ws=BoundedSocket,
            lifespan="off",
            log_level="warning",
            limit_concurrency=CONNECTIONS,
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
            if scope["path"] == "/slow":
                await asyncio.sleep(3 * SHORT)
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
        connection.settimeout(20)
        return connection

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(20)
        self.listener.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    running = Site()
    yield running
    running.stop()


@pytest.fixture
def connection(site: Site) -> Iterator[socket.socket]:
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


def drip(connection: socket.socket, byte: bytes = b"x") -> bytes:
    """Send a byte repeatedly until the server closes; return its response."""
    deadline = time.monotonic() + 20
    try:
        while time.monotonic() < deadline:
            connection.send(byte)
            time.sleep(0.02)
    except OSError:
        return read(connection)
    pytest.fail("the connection stays open")


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
    assert len(site.ended) <= uvicorn_protocols.PIPELINE_MAX + 1


def test_connections_over_the_limit_are_closed(site: Site) -> None:
    opened = [site.connect() for _ in range(CONNECTIONS + 20)]
    try:
        assert [connection for connection in opened[-10:] if read(connection)] == []
    finally:
        for connection in opened:
            connection.close()


# --- durations ----------------------------------------------------------------------------------
def test_requests_that_are_worked_on_for_long_are_answered(connection: socket.socket) -> None:
    connection.sendall((HEAD.replace(b"/ ", b"/slow ") + b"\r\n") * 2)
    assert read(connection).count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("sent", [b"", b"G", HEAD, POST, POST + b"x" * 50])
def test_a_silent_client_is_disconnected(connection: socket.socket, sent: bytes) -> None:
    connection.sendall(sent)
    assert read(connection) == b""


@pytest.mark.parametrize("sent", [HEAD, HEAD + b"x: ", POST.replace(b"100", b"1000000")])
def test_a_client_that_sends_a_byte_from_time_to_time_is_cut_off(
    connection: socket.socket, sent: bytes
) -> None:
    connection.sendall(sent)
    assert drip(connection) == b""


def test_line_ends_after_a_response_do_not_extend_the_connection(connection: socket.socket) -> None:
    connection.sendall(HEAD + b"\r\n")
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    drip(connection, b"\r\n")


def test_the_rest_of_a_body_that_nobody_reads_is_not_waited_for(
    connection: socket.socket,
) -> None:
    head = POST.replace(b"POST /", b"POST /unread").replace(b"100", b"1000000000")
    connection.sendall(head)
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    drip(connection)


@pytest.mark.parametrize("extra", [b"", b"Connection: close\r\n"])
def test_the_answer_to_a_body_that_nobody_reads_arrives(
    connection: socket.socket, extra: bytes
) -> None:
    head = POST.replace(b"POST /", b"POST /unread").replace(b"100", b"8000000")
    connection.sendall(head.replace(b"\r\n\r\n", b"\r\n" + extra + b"\r\n") + bytes(8_000_000))
    assert read(connection).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_is_cut_off(site: Site, connection: socket.socket) -> None:
    site.ended.clear()
    connection.sendall(HEAD.replace(b"/ ", b"/large ") + b"\r\n")
    deadline = time.monotonic() + 20
    while not site.ended and time.monotonic() < deadline:
        time.sleep(0.02)
    assert site.ended == ["/large"]
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
    time.sleep(3 * SHORT)
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
