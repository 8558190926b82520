"""Requests of the site to addresses that people gave it, such as those of push services.

`fetch` is the only way out, and makes server-side request forgery harmless:

- A host must resolve to public addresses only. The connection goes to an address that was checked,
  so a name that resolves to another address a moment later changes nothing. TLS is verified for the
  host name.
- Each redirect is checked like the first address, and is followed only if the caller permits it.
- One deadline covers all of it: name resolution, connections, TLS, redirects, the body. Bytes of
  headers and body are limited, and nothing is decompressed.
- No proxy, cookie, password or client certificate of this machine is used.

An address that people gave may be a secret, so errors and logs name the host at most.
"""

import functools
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from concurrent import futures
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

import certifi
import httpcore
from django.conf import settings

from socialsite.core.text.urls import ascii_bytes, ascii_url

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TIMEOUT_SECONDS = 5.0
URL_MAX = 2048
HEADERS_MAX = 64 * 1024
ADDRESSES_MAX = 3
PORTS = {"https": 443, "http": 80}
REDIRECTS = (301, 302, 303, 307, 308)
LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
HOST = re.compile(rf"{LABEL}(\.{LABEL})*\.?")
# Characters of a path or query that are not quoted; "%" begins an escape.
PLAIN = "/:@!$&'()*+,;=~-._?%"

# `is_global` depends on the version of Python and leaves these out.
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "168.63.129.16/32",  # services of a cloud for its machines
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "2001::/23",  # Teredo and others
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "3fff::/20",
    )
)
# Addresses outside contain an IPv4 address or are private: mapped, NAT64, link-local, unique local.
UNICAST = ipaddress.ip_network("2000::/3")

# A name server that does not answer must not hold up the caller, nor more threads than these.
_resolvers = futures.ThreadPoolExecutor(8, thread_name_prefix="outgoing-dns")


class OutgoingError(Exception):
    """The site sent no request, or received no complete answer."""


class Refused(OutgoingError):
    """The site may not send requests to the address, or to one that it redirects to."""


class Failed(OutgoingError):
    """No complete answer; the cause is the connection, the name, TLS, the time or the size."""


class Answer(NamedTuple):
    """An answer of any status. `url` is that of the last redirect.

    Names of headers are in lower case. The body is as sent, so one with `content-encoding` is still
    compressed.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    url: str


class _Target(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str
    addresses: list[str]


class Deadline:
    """The moment at which a request ends."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left; raises Failed when there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise Failed("no answer in time")
        return seconds


def fetch(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    content: bytes = b"",
    schemes: Iterable[str] = ("https",),
    timeout: float = TIMEOUT_SECONDS,
    max_bytes: int = 1_000_000,
    cut: bool = False,
    redirects: int = 0,
) -> Answer:
    """Send a request to a public address and return the answer, whatever its status.

    `timeout` is in seconds and covers everything. If the body is longer than `max_bytes`, `cut`
    returns its beginning; otherwise the request fails. Only GET follows redirects, at most
    `redirects`; with 0 the redirecting answer is returned. Raises Refused or Failed.
    """
    deadline = Deadline(timeout)
    follows = redirects if method == "GET" else 0
    for _hop in range(follows + 1):
        target = check(url, schemes, deadline)
        answer = _request(target, url, method, headers or {}, content, deadline, max_bytes, cut)
        place = answer.headers.get("location")
        if not follows or answer.status not in REDIRECTS or not place:
            return answer
        try:
            url = urljoin(url, ascii_bytes(place.encode("latin-1")))
        except ValueError:
            raise Refused("not an address") from None
    raise Failed("too many redirects")


def check(
    url: str, schemes: Iterable[str] = ("https",), deadline: Deadline | None = None
) -> _Target:
    """Return the checked target of an address; raises Refused, or Failed if the name has none."""
    scheme, host, port, path = _parts(url)
    deadline = deadline or Deadline(TIMEOUT_SECONDS)
    found = _resolved(host, port, deadline)
    local = settings.OUTGOING_LOOPBACK and all(address.is_loopback for address in found)
    if not local:
        if scheme not in schemes or port != PORTS[scheme]:
            raise Refused(f"only {', '.join(schemes)} with its own port")
        if not all(is_public(address) for address in found):
            raise Refused("not a public address")
    return _Target(scheme, host, port, path, [str(address) for address in found[:ADDRESSES_MAX]])


def is_public(address: Address) -> bool:
    """Return whether an address leads everybody on the internet to the same machine."""
    if isinstance(address, ipaddress.IPv6Address) and address not in UNICAST:
        return False
    if any(address in network for network in NOT_PUBLIC):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


# --- addresses ----------------------------------------------------------------------------------
def _parts(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path with query; raises Refused for a malformed address.

    Blanks and characters beyond ASCII are encoded. Programs disagree about addresses with control
    characters, backslashes or passwords, so none is accepted.
    """
    try:
        url = ascii_url(url)
        if len(url) > URL_MAX or re.search(r"[\x00-\x20\x7f\\]", url):
            raise Refused("not an address")
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        raise Refused("not an address") from None
    if scheme not in PORTS or "@" in parts.netloc or not _is_host(host):
        raise Refused("not an address")
    query = f"?{quote(parts.query, PLAIN)}" if parts.query else ""
    return scheme, host, port or PORTS[scheme], (quote(parts.path, PLAIN) or "/") + query


def _is_host(host: str) -> bool:
    """Return whether this is a name or an IP address in its usual form."""
    try:
        # A zone such as `%eth0` names an interface of this machine.
        return "%" not in host and bool(ipaddress.ip_address(host))
    except ValueError:
        # The last part of a name is no number: 127.1, 0x7f.0.0.1 and 2130706433 are addresses.
        last = host.rstrip(".").rpartition(".")[2]
        return bool(HOST.fullmatch(host)) and not last[:1].isdigit()


def _resolved(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Return all addresses of a host; raises Failed when there is none in time."""
    work = _resolvers.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        rows = work.result(deadline.left())
        found = [ipaddress.ip_address(str(row[4][0])) for row in rows]
    except (OSError, ValueError, futures.TimeoutError):
        work.cancel()
        raise Failed("the name has no address") from None
    if not found:
        raise Failed("the name has no address")
    return list(dict.fromkeys(found))


# --- the connection -----------------------------------------------------------------------------
@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())


class _Stream(httpcore.NetworkStream):
    """A connection whose steps all end at the deadline, and that reads at most `most` bytes."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline, most: int) -> None:
        self._stream, self._deadline, self._left = stream, deadline, most

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, self._deadline.left())
        self._left -= len(data)
        if self._left < 0:
            raise Failed("too long an answer")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _Stream(stream, self._deadline, self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Pinned(httpcore.NetworkBackend):
    """Connects to the checked addresses, whatever the name resolves to now."""

    def __init__(self, addresses: list[str], deadline: Deadline, most: int) -> None:
        self._addresses, self._deadline, self._most = addresses, deadline, most
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        for number, address in enumerate(self._addresses):
            # Each address leaves time for those after it.
            seconds = self._deadline.left() / (len(self._addresses) - number)
            try:
                stream = self._backend.connect_tcp(address, port, seconds, socket_options=())
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            return _Stream(stream, self._deadline, self._most)
        raise Failed("no connection")


def _request(
    target: _Target,
    url: str,
    method: str,
    headers: Mapping[str, str],
    content: bytes,
    deadline: Deadline,
    max_bytes: int,
    cut: bool,
) -> Answer:
    """Send one request to a checked target. The frames of a chunked body count too."""
    backend = _Pinned(target.addresses, deadline, HEADERS_MAX + 2 * max_bytes)
    address = httpcore.URL(
        scheme=target.scheme, host=target.host, port=target.port, target=target.path
    )
    sent = {
        "Host": _host_header(target),
        "User-Agent": f"socialsite (+{settings.SITE_URL})",
        "Accept-Encoding": "identity",
        "Connection": "close",
        **headers,
    }
    if content or method != "GET":
        sent["Content-Length"] = str(len(content))
    pool = httpcore.ConnectionPool(ssl_context=_tls(), network_backend=backend, retries=0)
    try:
        with (
            pool,
            pool.stream(method, address, headers=[*sent.items()], content=content) as response,
        ):
            body = _body(response, max_bytes, cut)
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError) as e:
        raise Failed(type(e).__name__) from None
    found = {name.decode("latin-1").lower(): value for name, value in response.headers}
    texts = {name: value.decode("latin-1") for name, value in found.items()}
    return Answer(response.status, texts, body, url)


def _host_header(target: _Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == PORTS[target.scheme] else f"{host}:{target.port}"


def _body(response: httpcore.Response, max_bytes: int, cut: bool) -> bytes:
    parts, size = [], 0
    for part in response.iter_stream():
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            if not cut:
                raise Failed("too long an answer")
            break
    return b"".join(parts)[:max_bytes]
