"""uvicorn's protocols with limits on the size and duration of requests.

uvicorn has settings for few of these limits, and with the fast parser (`httptools`) for none on the
head of a request. In the embedded mode no proxy stands in front; in the full stack nginx limits
HTTP, and these limits apply to `/ws/`.

- A head has at most HEADERS_MAX headers and HEAD_BYTES bytes, else 431.
- A client that is too slow is disconnected: HEAD_SECONDS for a whole head and for the next request,
  BODY_PAUSE_SECONDS without a byte of a body, BODY_SECONDS for all of it, LINGER_SECONDS for the
  rest of a body whose request is answered, WRITE_SECONDS without reading the response.
- Connections above `limit_concurrency` are closed before they cost anything.
- A WebSocket message has at most FRAGMENTS_MAX fragments, and at most PINGS_MAX pings of a client
  are answered within PING_SECONDS.

Deadlines are checked every CHECK_SECONDS, so a disconnect is late by at most that time.
"""

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

HEADERS_MAX = 100
HEAD_BYTES = 32 * 1024
# Requests that a connection may send before the first is answered.
PIPELINE_MAX = 16
FRAGMENTS_MAX = 64
PINGS_MAX, PING_SECONDS = 20, 10


class TooLargeHeadError(Exception):
    """The head of a request exceeded a limit; the parser turns it into its own error."""


class GentleTransport:
    """The transport of a request: `close` waits for the rest of the request body.

    A connection that is closed with unread input is reset, and the client loses the response.
    """

    def __init__(self, protocol: "BoundedHttp") -> None:
        self._protocol = protocol

    def write(self, data: bytes) -> None:
        """Write to the connection."""
        self._protocol.transport.write(data)

    def is_closing(self) -> bool:
        """Return True once nothing more can be sent."""
        return self._protocol.transport.is_closing()

    def close(self) -> None:
        """Close the connection, now or when the request is received."""
        self._protocol.close_after_request()


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 by `httptools`, with limits. The states are those of uvicorn; see the module."""

    HEAD_SECONDS = 15.0
    BODY_PAUSE_SECONDS = 30.0
    BODY_SECONDS = 300.0
    LINGER_SECONDS = 10.0
    WRITE_SECONDS = 30.0
    CHECK_SECONDS = 2.5

    _timer: asyncio.TimerHandle | None = None
    # Deadlines in loop time: for the client to send the awaited data, and to read written data.
    _send_by: float | None = None
    _read_by: float | None = None
    _body_by = 0.0
    _in_message = _in_head = _too_large = _is_last = False
    _count = _bytes = _unparsed = 0

    # --- the connection -------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; close a connection above the limit."""
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) > self.limit_concurrency:
            transport.abort()
            return
        self._gentle: Any = GentleTransport(self)
        self._wait(self.HEAD_SECONDS)
        self._timer = self.loop.call_later(self.CHECK_SECONDS, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._stop_clock()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the WebSocket protocol."""
        self._stop_clock()
        super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        """Set a deadline for the client to read: the buffer is full."""
        super().pause_writing()
        self._read_by = self.loop.time() + self.WRITE_SECONDS

    def resume_writing(self) -> None:
        """Clear the deadline: the client reads again."""
        super().resume_writing()
        self._read_by = None

    def close_after_request(self) -> None:
        """Close the connection once the request is fully received, or at the deadline."""
        self._is_last = True
        if not self._in_message:
            self.transport.close()

    def _wait(self, seconds: float) -> None:
        self._send_by = self.loop.time() + seconds

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        """Disconnect a client past its deadline, or check again later."""
        now = self.loop.time()
        if self._read_by is not None and now >= self._read_by:
            self.transport.abort()
            return
        if self.transport.is_closing():
            # It closes once everything is written, which needs a client that reads.
            self._read_by = self._read_by or now + self.WRITE_SECONDS
        elif self._send_by is not None and now >= self._send_by and not self.flow.read_paused:
            self.transport.close()
        self._timer = self.loop.call_later(self.CHECK_SECONDS, self._check)

    # --- what arrives ---------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        """Parse input; limit a head of which no header is complete yet."""
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._unparsed += len(data)
            if self._unparsed > HEAD_BYTES:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_message = self._in_head = True
        self._count = self._bytes = self._unparsed = 0
        self._wait(self.HEAD_SECONDS)

    def on_url(self, url: bytes) -> None:
        """Append a part of the address."""
        self._add(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, or a trailer of a chunked body."""
        self._count += 1
        self._add(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > HEAD_BYTES or self._count > HEADERS_MAX:
            self._too_large = True
            raise TooLargeHeadError

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        self._in_head = False
        if len(self.pipeline) >= PIPELINE_MAX:
            self._too_large = True
            raise TooLargeHeadError
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = self._gentle
        self._body_by = self.loop.time() + self.BODY_SECONDS
        self._wait(self.BODY_PAUSE_SECONDS)

    def on_body(self, body: bytes) -> None:
        """Append a part of the body; a body that nobody reads does not extend the deadline."""
        super().on_body(body)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait(self.BODY_PAUSE_SECONDS)
            self._send_by = min(self._send_by or self._body_by, self._body_by)

    def on_message_complete(self) -> None:
        """Stop the timer while the request is processed."""
        self._in_message = False
        super().on_message_complete()
        if self._is_last:
            self.transport.close()
        elif self.cycle is not None and not self.cycle.response_complete:
            self._send_by = None
        else:
            self._wait(self.HEAD_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of the current one."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last:
            self._wait(self.LINGER_SECONDS if self._in_message else self.HEAD_SECONDS)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be parsed."""
        if self._too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        text = b"The head of the request is too large."
        head = [
            STATUS_LINE[431],
            b"content-type: text/plain; charset=utf-8\r\n",
            b"content-length: %d\r\n" % len(text),
            b"connection: close\r\n\r\n",
        ]
        # Inside a response under way, the 400 would be taken for a part of it.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(b"".join([*head, text]))
        self.transport.close()


class BoundedSocket(WebSocketsSansIOProtocol):
    """A WebSocket with limits on frames; uvicorn's setting limits the size of a message."""

    _pings = 0
    _pings_since = 0.0

    async def send(self, message: Any) -> None:
        """Send a message, and drop the headers of the handshake once it is complete."""
        await super().send(message)
        if self.handshake_complete:
            self.request.headers.clear()
            self.response.headers.clear()

    def handle_cont(self, event: Any) -> None:
        """Receive a fragment; empty ones have no size that could be limited."""
        super().handle_cont(event)
        if len(self.frames) > FRAGMENTS_MAX:
            self._fail(1009, "too many fragments")

    def handle_ping(self) -> None:
        """Answer a ping, unless there were too many."""
        now = self.loop.time()
        if now - self._pings_since > PING_SECONDS:
            self._pings, self._pings_since = 0, now
        self._pings += 1
        if self._pings > PINGS_MAX:
            self._fail(1008, "too many pings")
        else:
            super().handle_ping()

    def send_receive_event_to_app(self) -> None:
        """Pass a message on; uvicorn would log a traceback for invalid UTF-8."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self._fail(1007, "not UTF-8")
                return
        super().send_receive_event_to_app()

    def _fail(self, code: Literal[1007, 1008, 1009], reason: str) -> None:
        if self.close_sent or self.transport.is_closing():
            return
        self.frames = []
        self.conn.fail(code, reason)
        if self.conn.close_sent is None:  # before the handshake is complete nothing can be sent
            self.transport.abort()
        else:
            self.handle_parser_exception()
