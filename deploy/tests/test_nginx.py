"""nginx alone in front of a minimal site: headers that every https answer has exactly once."""

import http.client
import os
import socket
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.middleware.security import SecurityMiddleware

from deploy.services import nginx
from deploy.services.service import free_port
from socialsite.core.http.server.hsts import HSTS, HSTS_SECONDS
from socialsite.core.runtime import request_ids

pytestmark = pytest.mark.once

NAME = f"ab/{0:032x}.jpg"
HEADER = "Strict-Transport-Security"
CLAIM = "c1a1" * 8


def of_django(settings: Any, rf: Any) -> str:
    """Return the header that Django sets over https."""
    settings.SECURE_HSTS_SECONDS = HSTS_SECONDS
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = settings.SECURE_HSTS_PRELOAD = True
    answer: Any = SecurityMiddleware(lambda request: HttpResponse())(rf.get("/", secure=True))
    return str(answer[HEADER])


def test_nginx_and_the_site_agree(settings: Any, rf: Any) -> None:
    assert of_django(settings, rf) == HSTS


class Site(BaseHTTPRequestHandler):
    """Sets HSTS when the visitor came by https, and sends private files through nginx."""

    def address_string(self) -> str:
        """Return an empty text: a client of a Unix socket has no address."""
        return ""

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        """Answer, or make nginx send the file."""
        self.send_response(200)
        if self.headers["X-Forwarded-Proto"] == "https":
            self.send_header(HEADER, HSTS)
        if self.path == "/private":
            self.send_header("X-Accel-Redirect", f"/_uploads/{NAME}")
        self.send_header("X-Request-ID", self.headers["X-Request-ID"])
        self.send_header("X-Seen", ",".join(self.headers.get_all("X-Request-ID") or []))
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture(scope="module", params=["https", "http"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """Yield the scheme and the port of an nginx."""
    with tempfile.TemporaryDirectory(prefix="socialsite-") as name:
        base = Path(name)
        for path in ("static/a.css", f"media/{NAME}", f"media/public/{NAME}"):
            file = base / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x")
            # Explicit, as importing the site sets a umask.
            file.chmod(0o644)
            for folder in file.relative_to(base).parents:
                (base / folder).chmod(0o755)
        site = socketserver.ThreadingUnixStreamServer(str(base / "http.sock"), Site)
        os.chmod(base / "http.sock", 0o666)  # noqa: S103  (in a directory of ours)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        port = free_port()
        server = nginx.nginx(
            *(base, "127.0.0.1", port),
            http_uds=[base / "http.sock"],
            sockets_uds=base / "nobody.sock",
            files=base,
            scheme=request.param,
        )
        try:
            server.start()
            yield request.param, port
        finally:
            server.stop()
            site.shutdown()
            site.server_close()


ANSWERS: list[tuple[str, int, dict[str, str]]] = [
    ("/", 200, {}),
    ("/api/v1/feed", 200, {}),
    ("/static/a.css", 200, {}),
    (f"/media/{NAME}", 200, {}),
    ("/private", 200, {}),
    ("/metrics", 404, {}),
    ("/", 413, {"Content-Length": "100000000"}),
    ("/api/v1/feed", 413, {"Content-Length": "100000000"}),
    ("/", 400, {"X-Long": "x" * 9000}),
    ("/ws/session/", 503, {}),
]


@pytest.mark.parametrize(("path", "status", "headers"), ANSWERS)
def test_every_response_over_https_has_one_hsts_header(
    server: tuple[str, int], path: str, status: int, headers: dict[str, str]
) -> None:
    scheme, port = server
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    assert answer.status == status
    assert (answer.headers.get_all(HEADER) or []) == ([HSTS] if scheme == "https" else [])
    connection.close()


def uploading(port: int, path: str) -> http.client.HTTPConnection:
    """Begin to send an archive, and return once nginx waits for its body or has answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("POST", path)
    connection.putheader("Content-Length", "1000000")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    connection.sock.recv(12, socket.MSG_PEEK | socket.MSG_WAITALL)
    return connection


def test_few_archives_are_uploaded_at_a_time(server: tuple[str, int]) -> None:
    """Their bodies are on the disk before anybody knows who sends them."""
    _, port = server
    paths = ["/api/v1/imports", "/settings/import"]
    held = [uploading(port, path) for path in paths]
    for path in paths:
        refused = uploading(port, path)
        answer = refused.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
        refused.close()
    other = uploading(port, "/api/v1/media/videos")
    assert other.sock.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 100"
    shown = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    shown.request("GET", "/settings/import")
    assert shown.getresponse().status == 200
    for connection in [*held, other, shown]:
        connection.close()


@pytest.mark.parametrize(("path", "status", "headers"), ANSWERS)
def test_every_answer_has_one_request_id_which_is_nginxs_own(
    server: tuple[str, int], path: str, status: int, headers: dict[str, str]
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server[1], timeout=30)
    connection.request("GET", path, headers=headers | {"X-Request-ID": CLAIM})
    answer = connection.getresponse()
    assert answer.status == status
    (ident,) = answer.headers.get_all("X-Request-ID") or []
    assert request_ids.is_id(ident)
    assert ident != CLAIM
    assert answer.headers["X-Seen"] in (None, ident)
    connection.close()


def test_sockets_get_the_request_id_too() -> None:
    text = (Path(nginx.__file__).parent / "nginx.conf.tmpl").read_text()
    head, _, sockets = text.partition("location /ws/ {")
    line = "proxy_set_header X-Request-ID $$request_id;"
    assert line in head
    assert line in sockets.partition("location ")[0]
