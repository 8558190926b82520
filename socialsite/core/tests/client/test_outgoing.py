"""Requests to addresses that people gave: only public ones, in bounded time and size."""

import contextlib
import datetime
import gzip
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from socialsite.core.client import outgoing
from socialsite.core.client.outgoing import Failed, Refused, fetch
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.once

PUBLIC = "93.184.216.34"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.9.9.9",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:93.184.216.34",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


class Server:
    """Runs a function for each connection, and keeps what the clients sent."""

    def __init__(self, talk: Callable[[socket.socket], None], tls: Any = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard: list[bytes] = []
        self._talk, self._tls, self._ended = talk, tls, threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            try:
                connection.settimeout(LIMIT)
                if self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                self.heard.append(self._request(connection))
                self._talk(connection)
            except OSError:
                pass  # the client has left
            finally:
                connection.close()

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        heard = connection.recv(65536)
        length = re.search(rb"Content-Length: (\d+)", heard)
        while length and len(heard.partition(b"\r\n\r\n")[2]) < int(length[1]):
            heard += connection.recv(65536)
        return heard

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers on loopback, and stop them at the end."""
    servers: list[Server] = []

    def start(talk: Callable[[socket.socket], None] | bytes, tls: Any = None) -> Server:
        run = (lambda connection: connection.sendall(talk)) if isinstance(talk, bytes) else talk
        servers.append(Server(run, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def loopback(settings: Any) -> None:
    """Let requests go to this machine, as trials do."""
    settings.OUTGOING_LOOPBACK = True


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Give names addresses: one list for each time that a name is resolved; the last one stays."""
    known: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: Any, **options: Any) -> Any:
        if host not in known:
            return real(host, port, *args, **options)
        found = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (item, port)) for item in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


@pytest.mark.parametrize("address", PRIVATE)
def test_no_request_goes_to_an_address_that_is_not_public(
    address: str, names: dict[str, list[list[str]]]
) -> None:
    assert not outgoing.is_public(ipaddress.ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Refused):
        fetch(f"https://{host}/")
    names["inside.example"] = [[PUBLIC, address]]
    with pytest.raises(Refused):
        fetch("https://inside.example/")


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "2a00:1450::200e"])
def test_public_addresses_are_public(address: str) -> None:
    assert outgoing.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.0.1./",
        "https://１２７.０.０.１/",
        "https://①②⑦.0.0.1/",
        "https://localhost/",
        "https://[fe80::1%25lo]/",
        "https://[::ffff:7f00:1]/",
        "https://push.example@127.0.0.1/",
        "https://user:secret@push.example/",
        "https://push.example\\@127.0.0.1/",
        "https://push.example\t/",
        "https://push.example/\r\nHost: inside",
        "https:///etc/passwd",
        "https://push.example:99999/",
        "https://push.example:22/",
        "http://push.example/",
        "https://push.example:80/",
        "ftp://push.example/",
        "file:///etc/passwd",
        "gopher://push.example/",
        "javascript:alert(1)",
        "//push.example/",
        "push.example",
        "",
        "https://",
        "https://-/",
        "https://[::1/",
        "https://a..b/",
        f"https://{'a' * 64}.example/",
        "https://push.example/" + "a" * 3000,
    ],
)
def test_no_request_goes_to_a_strange_address(url: str, names: dict[str, list[list[str]]]) -> None:
    names["push.example"] = [[PUBLIC]]
    names["a..b"] = [[PUBLIC]]
    with pytest.raises(Refused):
        fetch(url)


@pytest.mark.usefixtures("loopback")
def test_an_answer_comes_back_whole(serve: Any) -> None:
    server = serve(OK)
    answer = fetch(f"http://127.0.0.1:{server.port}/a b".replace(" ", "%20") + "?q=ü")
    assert (answer.status, answer.body) == (200, b"hello")
    assert server.heard[0].startswith(b"GET /a%20b?q=%C3%BC HTTP/1.1\r\n")
    assert f"Host: 127.0.0.1:{server.port}\r\n".encode() in server.heard[0]


@pytest.mark.usefixtures("loopback")
def test_what_is_posted_arrives(serve: Any) -> None:
    server = serve(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    url = f"http://127.0.0.1:{server.port}/push"
    assert fetch(url, method="POST", headers={"TTL": "60"}, content=b"abc").status == 201
    assert server.heard[0].endswith(b"\r\n\r\nabc")
    assert b"\r\nTTL: 60\r\n" in server.heard[0]


def test_the_permission_for_loopback_is_none_for_other_addresses(settings: Any, names: Any) -> None:
    settings.OUTGOING_LOOPBACK = True
    names["inside.example"] = [["127.0.0.1", "10.0.0.1"]]
    for url in ("https://inside.example/", "http://10.0.0.1/", "https://169.254.169.254/"):
        with pytest.raises(Refused):
            fetch(url)


# --- redirects ----------------------------------------------------------------------------------
def redirect(place: str, status: int = 302) -> bytes:
    """Return an answer that redirects."""
    return f"HTTP/1.1 {status} X\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.mark.usefixtures("loopback")
def test_redirects_are_followed_as_far_as_permitted(serve: Any) -> None:
    last = serve(OK)
    second = serve(redirect(f"http://127.0.0.1:{last.port}/end"))
    first = serve(redirect(f"//127.0.0.1:{second.port}/"))
    url = f"http://127.0.0.1:{first.port}/"
    answer = fetch(url, redirects=2)
    assert (answer.status, answer.url) == (200, f"http://127.0.0.1:{last.port}/end")
    with pytest.raises(Failed):
        fetch(url, redirects=1)
    assert fetch(url).status == 302
    assert fetch(url, method="POST", redirects=2).status == 302


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "place",
    [
        "http://10.0.0.1/",
        "//10.0.0.1/",
        "http://169.254.169.254/latest",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://user@127.0.0.1/",
        "http://inside.example/",
        "http://mixed.example/",
        "http://outside.example:22/",
        "file:///etc/passwd",
        "gopher://outside.example/",
        "http://[",
    ],
)
def test_no_redirect_leads_inside(serve: Any, names: Any, place: str) -> None:
    names["inside.example"] = [["10.0.0.1"]]
    names["mixed.example"] = [[PUBLIC, "127.0.0.1"]]
    names["outside.example"] = [[PUBLIC]]
    server = serve(redirect(place))
    with pytest.raises(Refused):
        fetch(f"http://127.0.0.1:{server.port}/", schemes=("https", "http"), redirects=3)


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("/café".encode(), b"GET /caf%C3%A9 HTTP/1.1"),
        ("/café".encode("latin-1"), b"GET /caf%E9 HTTP/1.1"),
        (b"/a b?c d", b"GET /a%20b?c%20d HTTP/1.1"),
        (b"/caf%C3%A9", b"GET /caf%C3%A9 HTTP/1.1"),
    ],
)
def test_a_redirect_is_requested_in_its_bytes(serve: Any, place: bytes, asked: bytes) -> None:
    server = serve(b"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: " + place + b"\r\n\r\n")
    with pytest.raises(Failed, match="too many redirects"):
        fetch(f"http://127.0.0.1:{server.port}/", redirects=1)
    assert server.heard[1].startswith(asked)


@pytest.mark.usefixtures("loopback")
def test_redirects_in_a_circle_end(serve: Any) -> None:
    server = serve(redirect("/again"))
    with pytest.raises(Failed, match="too many redirects"):
        fetch(f"http://127.0.0.1:{server.port}/", redirects=3)
    assert len(server.heard) == 4


# --- names --------------------------------------------------------------------------------------
def certificate_of(name: str, folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server with this name, and of a client that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=path)


@pytest.mark.usefixtures("loopback")
def test_tls_is_verified_for_the_name_of_the_host(
    serve: Any, names: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server_side, trusting = certificate_of("push.example", tmp_path)
    server = serve(OK, server_side)
    names["push.example"] = names["other.example"] = [["127.0.0.1"]]
    with pytest.raises(Failed):  # nobody vouches for this certificate
        fetch(f"https://push.example:{server.port}/")
    monkeypatch.setattr(outgoing, "_tls", lambda: trusting)
    assert fetch(f"https://push.example:{server.port}/").body == b"hello"
    assert f"Host: push.example:{server.port}\r\n".encode() in server.heard[-1]
    with pytest.raises(Failed):
        fetch(f"https://other.example:{server.port}/")


def test_a_name_that_changes_its_address_leads_nowhere_else(
    names: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []

    def connect(address: tuple[str, int], *args: Any, **options: Any) -> socket.socket:
        reached.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    names["rebinding.example"] = [[PUBLIC], ["127.0.0.1"]]
    with pytest.raises(Failed):
        fetch("https://rebinding.example/")
    assert reached == [PUBLIC]


def test_a_name_server_that_does_not_answer_takes_no_longer_than_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released, answered = threading.Event(), threading.Event()

    def answer(*args: Any, **options: Any) -> Any:
        released.wait(LIMIT)
        answered.set()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(Failed):
        fetch("https://slow.example/", timeout=0.3)
    assert not answered.is_set()
    released.set()


def test_a_name_without_an_address_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any, **options: Any) -> Any:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(Failed):
        fetch("https://nobody.example/")


# --- time and size ------------------------------------------------------------------------------
@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n", b"a"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ],
    ids=["silent", "headers", "body", "chunks", "informational"],
)
def test_a_slow_server_takes_no_longer_than_the_deadline(
    serve: Any, head: bytes, part: bytes
) -> None:
    outlasted = threading.Event()

    def talk(connection: socket.socket) -> None:
        """Send a beginning, then a part each 50 ms, until the client leaves."""
        connection.sendall(head)
        connection.settimeout(0.05)
        for _ in range(int(LIMIT / 0.05)):
            connection.sendall(part)
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    return
        outlasted.set()

    server = serve(talk)
    with pytest.raises(Failed):
        fetch(f"http://127.0.0.1:{server.port}/", timeout=0.5)
    assert not outlasted.is_set()


def flood(head: bytes, part: bytes) -> Callable[[socket.socket], None]:
    """Return a talk that sends as fast as it can, up to 30 MB."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(head)
        for _ in range(30):
            connection.sendall(part * (1_000_000 // len(part)))

    return talk


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(
    "talk",
    [
        flood(b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
        flood(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        flood(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        flood(b"HTTP/1.1 200 OK\r\nContent-Length: 30000000\r\n\r\n", b"a"),
        flood(b"HTTP/1.1 200 OK\r\n\r\n", b"a"),
        flood(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    ],
    ids=["headers", "header", "informational", "body", "endless", "chunks"],
)
def test_a_huge_answer_is_not_read(serve: Any, talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    real = outgoing._Stream.read
    monkeypatch.setattr(
        outgoing._Stream,
        "read",
        lambda self, size, timeout: [found := real(self, size), read.append(len(found))][0],
    )
    with pytest.raises(Failed):
        fetch(f"http://127.0.0.1:{serve(talk).port}/", max_bytes=10_000)
    assert sum(read) < 400_000


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip"])
def test_a_compressed_bomb_is_not_unpacked(serve: Any, coding: str) -> None:
    bomb = gzip.compress(bytes(20_000_000))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(bomb)}\r\n\r\n"
    server = serve(head.encode() + bomb)
    answer = fetch(f"http://127.0.0.1:{server.port}/", max_bytes=len(bomb))
    assert answer.body == bomb
    assert b"accept-encoding: identity\r\n" in server.heard[0].lower()


@pytest.mark.usefixtures("loopback")
def test_the_beginning_of_a_long_body_is_returned_on_request(serve: Any) -> None:
    server = serve(flood(b"HTTP/1.1 200 OK\r\n\r\n", b"a"))
    answer = fetch(f"http://127.0.0.1:{server.port}/", max_bytes=10_000, cut=True)
    assert answer.body == b"a" * 10_000


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200", b"\x00" * 50])
def test_what_is_no_http_fails(serve: Any, said: bytes) -> None:
    with pytest.raises(Failed):
        fetch(f"http://127.0.0.1:{serve(said).port}/")


@pytest.mark.usefixtures("loopback")
def test_an_error_does_not_name_the_address(serve: Any) -> None:
    server = serve(b"")
    with pytest.raises(Failed) as raised:
        fetch(f"http://127.0.0.1:{server.port}/secret")
    assert "secret" not in repr(raised.value)
    assert raised.value.__suppress_context__
