"""A forward proxy by which a machine without a network fetches packages.

Its socket is made inside the network namespace of the machine, so nothing of this machine's own
network is changed: only connections that the proxy opens itself leave it.
"""

import contextlib
import selectors
import socket
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from chaos.machines.namespaces import inside

PORT = 3128
CONNECT_SECONDS = 30
PART = 65_536


class Proxy(BaseHTTPRequestHandler):
    """Passes on CONNECT and GET."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def do_CONNECT(self) -> None:
        """Connect the client with the host that it names."""
        host, _, port = self.path.rpartition(":")
        self._relay(host, int(port), b"", announce=True)

    def do_GET(self) -> None:
        """Send one request to the host of its URL; the connection ends with the answer."""
        parts = urlsplit(self.path)
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        headers = [
            f"{name}: {value}"
            for name, value in self.headers.items()
            if name.lower() not in ("connection", "proxy-connection")
        ]
        head = "\r\n".join([f"GET {target} HTTP/1.1", *headers, "Connection: close", "", ""])
        self._relay(parts.hostname or "", parts.port or 80, head.encode(), announce=False)

    def _relay(self, host: str, port: int, first: bytes, *, announce: bool) -> None:
        self.close_connection = True
        try:
            upstream = socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as error:
            self.send_error(502, str(error))
            return
        with upstream, contextlib.suppress(OSError):
            if announce:
                self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            upstream.sendall(first)
            _copy_both_ways(self.connection, upstream)


def _copy_both_ways(one: socket.socket, other: socket.socket) -> None:
    """Copy until one side closes."""
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in selector.select():
                source: socket.socket = key.fileobj  # type: ignore[assignment]
                part = source.recv(PART)
                if not part:
                    return
                key.data.sendall(part)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listener: socket.socket) -> None:
        socketserver.BaseServer.__init__(self, listener.getsockname(), Proxy)
        self.socket = listener
        self.server_name, self.server_port = "127.0.0.1", PORT


@contextlib.contextmanager
def proxy(namespace: Path) -> Iterator[str]:
    """Run the proxy inside a network namespace; yields its URL there."""
    server = _Server(inside(namespace, lambda: socket.create_server(("127.0.0.1", PORT))))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{PORT}"
    finally:
        server.shutdown()
        server.server_close()
