"""Requests and responses; a request keeps its parts, so that a finding can be reduced."""

import contextlib
import dataclasses
import http.client
import json
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

TIMEOUT_SECONDS = 30.0
MUTATING = ("POST", "PUT", "PATCH", "DELETE")
# Characters of an address that are sent unchanged; the creator of a hostile address quotes it.
KEPT_IN_PATH = "/%:@-._~!$&'()*+,;=?"


@dataclass(frozen=True)
class Json:
    """A body in JSON; lone surrogates are sent as escapes."""

    value: Any

    def render(self) -> tuple[bytes, str]:
        """Return the bytes and their content type."""
        return json.dumps(self.value).encode(), "application/json"


@dataclass(frozen=True)
class Upload:
    """A file of a form."""

    name: str
    data: bytes
    kind: str = "image/png"


@dataclass(frozen=True)
class Form:
    """A body of fields, as a browser sends it; with files it is multipart."""

    fields: tuple[tuple[str, str | Upload], ...]
    multipart: bool = False

    def render(self) -> tuple[bytes, str]:
        """Return the bytes and their content type."""
        if not self.multipart and not any(isinstance(v, Upload) for _, v in self.fields):
            text = urlencode(self.fields, errors="surrogatepass")
            return text.encode(), "application/x-www-form-urlencoded"
        boundary = uuid.uuid4().hex
        parts = b"".join(_part(boundary, name, value) for name, value in self.fields)
        return parts + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _part(boundary: str, name: str, value: str | Upload) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
    if isinstance(value, Upload):
        head += f'; filename="{value.name}"\r\nContent-Type: {value.kind}'
    body = value.data if isinstance(value, Upload) else value.encode(errors="surrogatepass")
    return head.encode(errors="surrogatepass") + b"\r\n\r\n" + body + b"\r\n"


@dataclass(frozen=True)
class Raw:
    """A body as raw bytes."""

    data: bytes
    kind: str = "application/json"

    def render(self) -> tuple[bytes, str]:
        """Return the bytes and their content type."""
        return self.data, self.kind


Body = Json | Form | Raw
Query = tuple[tuple[str, str], ...]


def split(address: str) -> tuple[str, Query]:
    """Return the path of an address and its query, decoded."""
    path, _, query = address.partition("?")
    return path, tuple(parse_qsl(query, keep_blank_values=True))


@dataclass(frozen=True)
class Request:
    """One request, without its credential, which is added on sending; `who` names the sender."""

    method: str
    path: str
    query: Query = ()
    headers: dict[str, str] = field(default_factory=dict)
    body: Body | None = None
    who: str = "guest"

    @property
    def target(self) -> str:
        """The path and the query, quoted if necessary."""
        path = quote(self.path, safe=KEPT_IN_PATH, errors="surrogatepass")
        return path + ("?" + urlencode(self.query, errors="surrogatepass") if self.query else "")

    @property
    def writes(self) -> bool:
        """Return True for a method that changes something."""
        return self.method in MUTATING

    @property
    def given(self) -> str:
        """Everything that the sender wrote: finding it in the response reveals nothing."""
        body = self.body
        if isinstance(body, Form):
            texts = [v if isinstance(v, str) else v.name for _, v in body.fields]
        elif isinstance(body, Json):
            texts = [json.dumps(body.value, ensure_ascii=False)]
        else:
            texts = [body.data.decode(errors="replace")] if body else []
        return " ".join([self.path, *(v for _, v in self.query), *texts])

    def replace(self, **changes: Any) -> "Request":
        """Return a copy with some parts replaced."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class Answer:
    """A response; status 0 without one. `seconds` is wall time."""

    status: int
    headers: Message
    body: bytes
    seconds: float
    trouble: str = ""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """Return the body parsed as JSON; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None

    def header(self, name: str) -> str:
        """Return a header; empty if there is none."""
        return str(self.headers.get(name, ""))

    @property
    def everything(self) -> str:
        """Body and headers: all places where a response may reveal something."""
        return self.text + "\n" + "\n".join(f"{k}: {v}" for k, v in self.headers.items())

    @property
    def is_login(self) -> bool:
        """True if a page redirects to the log-in page, so nothing was done."""
        led = self.header("Location").partition("?")[0]
        return 300 <= self.status < 400 and led in ("/login", "/admin/login/")

    @property
    def accepted(self) -> bool:
        """True if the request succeeded."""
        return 200 <= self.status < 400 and not self.is_login


class _Connection(http.client.HTTPConnection):
    """A connection that sends any bytes, hostile or not."""

    def _validate_path(self, url: str) -> None:
        pass

    def _encode_request(self, request: str) -> bytes:
        return request.encode("latin-1", errors="replace")


class Wire:
    """A kept connection of one thread to one site; `always` are headers of every request."""

    def __init__(self, host: str, port: int, always: Mapping[str, str] | None = None) -> None:
        self.host, self.port, self.always = host, port, {**(always or {})}
        self._connection = _Connection(host, port, timeout=TIMEOUT_SECONDS)

    def send(self, request: Request, headers: dict[str, str]) -> Answer:
        """Send and wait for the response; a kept connection that was closed is reopened once."""
        body, kind = request.body.render() if request.body is not None else (b"", "")
        whole = {"Host": f"{self.host}:{self.port}", **self.always, **headers}
        if kind:
            whole.setdefault("Content-Type", kind)
        if body or request.method in MUTATING:
            whole.setdefault("Content-Length", str(len(body)))
        whole |= request.headers
        began = time.perf_counter()
        trouble = ""
        for attempt in (1, 2):
            try:
                found = self._exchange(request, whole, body)
                return Answer(*found, time.perf_counter() - began)
            except TimeoutError:
                trouble = "timed out"
                break
            except (http.client.HTTPException, OSError) as error:
                trouble = f"{type(error).__name__}: {error}"
                self.close()
                if attempt == 2:
                    break
        self.close()
        return Answer(0, Message(), b"", time.perf_counter() - began, trouble)

    def _exchange(
        self, request: Request, headers: dict[str, str], body: bytes
    ) -> tuple[int, Message, bytes]:
        connection = self._connection
        connection.putrequest(
            request.method, request.target, skip_host=True, skip_accept_encoding=True
        )
        for name, value in headers.items():
            connection.putheader(name, value.encode(errors="surrogatepass"))
        connection.endheaders()
        # Refused before the end of the body: the response may have arrived.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.send(body)
        answer = connection.getresponse()
        data = answer.read()
        return answer.status, answer.headers, data

    def close(self) -> None:
        """Close; the next request opens a new connection."""
        self._connection.close()


def raw_exchange(host: str, port: int, data: bytes, seconds: float = 5) -> bytes:
    """Send bytes that no HTTP library would send; return the response."""
    with socket.create_connection((host, port), seconds) as connection:
        connection.settimeout(seconds)
        connection.sendall(data)
        found = b""
        try:
            while part := connection.recv(65_536):
                found += part
        except OSError:
            pass
        return found
