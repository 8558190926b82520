"""The check of TLS, on real servers with certificates that are good, old, foreign or nearly old."""

import ipaddress
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from socialsite.doctor.checks import tls
from socialsite.doctor.findings import ERROR, OK, UNKNOWN, WARNING, Finding, worst

pytestmark = pytest.mark.once

HSTS = {"Strict-Transport-Security": "max-age=63072000; includeSubDomains; preload"}


def texts(findings: Iterable[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


def certificate(folder: Path, days: int, address: str = "127.0.0.1") -> Path:
    """Write a certificate that signs itself, and its key, into one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "site")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=100))
        .not_valid_after(now + timedelta(days=days, hours=12))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


@contextmanager
def serving(
    path: Path | None, status: int = 200, headers: dict[str, str] | None = None
) -> Iterator[int]:
    """Answer every request in the same way, with TLS if there is a certificate; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not status:
                return  # the connection ends without an answer
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    class Quiet(HTTPServer):
        def handle_error(self, *_args: Any) -> None:
            """Clients that do not trust the certificate hang up."""

    server = Quiet(("127.0.0.1", 0), Handler)
    if path is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def checked(settings: Any, path: Path, status: int = 200, **headers: str) -> list[Finding]:
    """Return the findings about a site with a certificate that this machine trusts."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    with serving(path, status, sent or HSTS) as port:
        settings.SITE_URL = f"https://127.0.0.1:{port}"
        return list(tls.tls(ssl.create_default_context(cafile=str(path))))


@pytest.mark.parametrize(
    ("days", "level"), [(90, OK), (21, OK), (20, WARNING), (7, WARNING), (6, ERROR)]
)
def test_the_days_until_a_certificate_ends_decide(
    settings: Any, tmp_path: Path, days: int, level: str
) -> None:
    found = checked(settings, certificate(tmp_path, days))
    assert worst(found) == level
    assert f"{days} more days" in texts(found, level)


def test_an_expired_certificate_is_an_error(settings: Any, tmp_path: Path) -> None:
    found = checked(settings, certificate(tmp_path, -2))
    assert "expired" in texts(found, ERROR)


def test_a_certificate_for_another_name_is_an_error(settings: Any, tmp_path: Path) -> None:
    found = checked(settings, certificate(tmp_path, 90, "192.0.2.1"))
    assert "Browsers refuse the certificate" in texts(found, ERROR)


def test_a_certificate_of_an_unknown_authority_is_an_error(settings: Any, tmp_path: Path) -> None:
    with serving(certificate(tmp_path, 90), 200, HSTS) as port:
        settings.SITE_URL = f"https://127.0.0.1:{port}"
        assert "self-signed" in texts(tls.tls(), ERROR)


@pytest.mark.parametrize("value", ["max-age=60", "includeSubDomains", "max-age=x"])
def test_weak_hsts_is_a_warning(settings: Any, tmp_path: Path, value: str) -> None:
    found = checked(settings, certificate(tmp_path, 90), Strict_Transport_Security=value)
    assert "HSTS" in texts(found, WARNING)


def test_a_proxy_without_the_site_is_an_error(settings: Any, tmp_path: Path) -> None:
    found = checked(settings, certificate(tmp_path, 90), status=502)
    assert "answers with 502" in texts(found, ERROR)


def test_a_proxy_that_hangs_up_is_an_error(settings: Any, tmp_path: Path) -> None:
    found = checked(settings, certificate(tmp_path, 90), status=0)
    assert "does not answer at its public address" in texts(found, ERROR)


def test_a_host_that_cannot_be_reached_is_unknown(settings: Any) -> None:
    with serving(None) as port:
        settings.SITE_URL = f"https://127.0.0.1:{port}"
    assert "cannot be reached from here" in texts(tls.tls(), UNKNOWN)


def test_http_must_redirect_to_https() -> None:
    with serving(None, 301, {"Location": "https://127.0.0.1/"}) as port:
        assert list(tls.redirect("127.0.0.1", port)) == []
    with serving(None, 301, {"Location": "http://127.0.0.1/"}) as port:
        assert worst(tls.redirect("127.0.0.1", port)) == ERROR
    with serving(None) as port:
        assert worst(tls.redirect("127.0.0.1", port)) == ERROR
    assert worst(tls.redirect("127.0.0.1", port)) == UNKNOWN


@pytest.mark.parametrize(
    ("site", "level"),
    [
        ("http://site.example", WARNING),
        ("http://192.0.2.1:8000", WARNING),
        ("http://localhost:8000", OK),
        ("http://[::1]:8000", OK),
    ],
)
def test_a_public_site_without_https_is_a_warning(settings: Any, site: str, level: str) -> None:
    settings.SITE_URL = site
    assert worst(tls.tls()) == level
