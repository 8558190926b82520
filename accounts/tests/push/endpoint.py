"""A push service on this machine: it checks VAPID, and keeps what its browser decrypts.

Decryption and verification are written from the RFCs here, apart from the code under test.
"""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# The public key of a browser, from RFC 8291.
POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"


def b64(value: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def unb64(text: str) -> bytes:
    """Return the bytes of base64url."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point_of(text: str) -> ec.EllipticCurvePublicKey:
    """Return a public key of its point in base64url."""
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(text))


class Browser:
    """The keys of one browser, and the decryption of its messages."""

    def __init__(self) -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.auth = b"0123456789abcdef"

    @property
    def point(self) -> bytes:
        """The public key, uncompressed."""
        return self.private.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )

    @property
    def keys(self) -> dict[str, str]:
        """The keys as the browser's JSON has them."""
        return {"p256dh": b64(self.point), "auth": b64(self.auth)}

    def decrypt(self, body: bytes) -> bytes:
        """Return the text of a body in `aes128gcm` (RFC 8188, RFC 8291)."""
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        theirs, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size
        assert len(body) <= 4096
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
        shared = self.private.exchange(ec.ECDH(), key)
        prk = _hmac(self.auth, shared)
        secret = _hmac(prk, b"WebPush: info\0" + self.point + theirs + b"\1")
        prk = _hmac(salt, secret)
        content = _hmac(prk, b"Content-Encoding: aes128gcm\0\1")[:16]
        nonce = _hmac(prk, b"Content-Encoding: nonce\0\1")[:12]
        padded = AESGCM(content).decrypt(nonce, record, None).rstrip(b"\0")
        assert padded[-1] == 2
        return padded[:-1]


def _hmac(key: bytes, value: bytes) -> bytes:
    return hmac.new(key, value, hashlib.sha256).digest()


class Push(NamedTuple):
    """One request, its message as the browser reads it, and the claims of its VAPID token."""

    path: str
    message: dict[str, Any]
    headers: dict[str, str]
    claims: dict[str, Any]
    size: int


class PushService:
    """Listens on loopback; `answer` says how: a status and headers."""

    def __init__(self) -> None:
        self.pushes: list[Push] = []
        self.wrong: list[str] = []
        self.browsers: dict[str, Browser] = {}
        self.status, self.headers = 201, dict[str, str]()
        # Called while a request is being answered.
        self.meanwhile: Callable[[], None] | None = None
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                try:
                    service._take(self)
                except Exception as error:
                    service.wrong.append(repr(error))
                self.send_response(service.status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def browser(self, name: str) -> dict[str, Any]:
        """Return the subscription of a new browser as JSON, with an endpoint here."""
        self.browsers[f"/push/{name}"] = made = Browser()
        return {"endpoint": f"{self.origin}/push/{name}", "keys": made.keys}

    @property
    def titles(self) -> list[str]:
        """The titles of all pushes."""
        return [push.message["title"] for push in self.pushes]

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        if self.meanwhile is not None:
            self.meanwhile()
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["content-encoding"] == "aes128gcm"
        assert int(headers["ttl"]) >= 0
        scheme, _, rest = headers["authorization"].partition(" ")
        fields = dict(part.strip().split("=", 1) for part in rest.split(","))
        assert scheme == "vapid"
        key: Any = point_of(fields["k"])
        claims = jwt.decode(fields["t"], key, algorithms=["ES256"], audience=self.origin)
        message = json.loads(self.browsers[request.path].decrypt(body))
        self.pushes.append(Push(request.path, message, headers, claims, len(body)))

    def stop(self) -> None:
        """End the thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def running() -> Iterator[PushService]:
    """A push service, until the block ends."""
    service = PushService()
    try:
        yield service
    finally:
        service.stop()
    assert service.wrong == []
