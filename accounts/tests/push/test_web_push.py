"""One message: encrypted for one browser, signed by the site, sent to public addresses only."""

import email.utils
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from accounts.tests.push import endpoint
from accounts.tests.push.endpoint import POINT, Browser, PushService, b64, unb64
from socialsite.core.client import web_push
from socialsite.core.client.web_push import Keys, Outcome
from socialsite.core.runtime import vapid

pytestmark = pytest.mark.once


@pytest.fixture
def service(settings: Any) -> Iterator[PushService]:
    settings.OUTGOING_LOOPBACK = True
    settings.VAPID_PRIVATE_KEY = vapid.new()
    settings.VAPID_SUBJECT = "mailto:a@site.example"
    with endpoint.running() as found:
        yield found


def send(subscription: dict[str, Any], text: bytes = b"{}", **more: str) -> web_push.Sent:
    keys = web_push.keys_of(**subscription["keys"])
    return web_push.send(subscription["endpoint"], keys, text, **more)


def test_the_example_of_rfc_8291_is_encrypted_as_there() -> None:
    """RFC 8291, section 5."""
    keys = Keys(
        unb64(POINT),
        unb64("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    text = b"When I grow up, I want to be a watermelon"
    body = web_push.encrypt(
        text,
        keys,
        own=vapid.parse("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=unb64("DGv6ra1nlYgDCS1FRnbzlw"),
        size=len(text),
    )
    assert b64(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS"
        "6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qu"
        "lcy4a-fN"
    )


@given(st.binary(max_size=web_push.PLAIN_MAX).filter(lambda text: not text.endswith(b"\0")))
def test_every_message_is_read_by_its_browser_and_has_one_length(text: bytes) -> None:
    browser = Browser()
    body = web_push.encrypt(text, web_push.keys_of(**browser.keys))
    assert browser.decrypt(body) == text
    assert len(body) == web_push.HEADER_BYTES + web_push.PLAIN_MAX + 1 + 16 < 4096


def test_the_push_service_gets_a_signed_request_and_the_browser_the_message(
    service: PushService,
) -> None:
    message = {"title": "陈 🎋", "body": "x" * 2000}
    sent = send(service.browser("a"), json.dumps(message).encode(), topic="n1", urgency="low")
    assert sent.outcome is Outcome.SENT
    (push,) = service.pushes
    assert push.message == message
    assert push.claims["sub"] == "mailto:a@site.example"
    assert 0 < push.claims["exp"] - time.time() <= 24 * 3600
    assert (push.headers["topic"], push.headers["urgency"]) == ("n1", "low")
    assert push.headers["ttl"] == str(web_push.TTL_SECONDS)
    assert push.size <= 4096


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.SENT),
        (201, Outcome.SENT),
        (404, Outcome.GONE),
        (410, Outcome.GONE),
        (429, Outcome.LATER),
        (500, Outcome.LATER),
        (503, Outcome.LATER),
        (400, Outcome.REFUSED),
        (403, Outcome.REFUSED),
        (413, Outcome.REFUSED),
        (302, Outcome.REFUSED),
    ],
)
def test_the_answer_of_the_service_decides(
    service: PushService, status: int, outcome: Outcome
) -> None:
    service.status, service.headers = status, {"Location": f"{service.origin}/push/other"}
    assert send(service.browser("a")).outcome is outcome
    # A redirect is not followed.
    assert [push.path for push in service.pushes] == ["/push/a"]


def test_retry_after_is_a_number_or_a_date_and_anything_else_is_none(monkeypatch) -> None:
    now = int(time.time())
    monkeypatch.setattr("time.time", lambda: float(now))
    soon = email.utils.formatdate(now + 90, usegmt=True)
    assert web_push.retry_after({"retry-after": soon}) == 90
    assert web_push.retry_after({"retry-after": "120"}) == 120
    assert web_push.retry_after({"retry-after": email.utils.formatdate(0, usegmt=True)}) == 0
    for text in ("", "-1", "soon", "１２", "9" * 4000, "Mon, 99 Foo 2026", "0x10"):
        seconds = web_push.retry_after({"retry-after": text})
        assert seconds is None or seconds < 10**10, text


@pytest.mark.parametrize(
    "address",
    [
        *("http://push.example/a", "https://push.example:8443/a", "ftp://push.example/a"),
        *("https://127.0.0.1/a", "https://10.0.0.1/a", "https://192.168.1.1/a", "https://[::1]/a"),
        *("https://169.254.169.254/latest", "https://[::ffff:10.0.0.1]/a", "https://[fe80::1]/a"),
        *("https://[fd00:ec2::254]/a", "https://0.0.0.0/a", "https://[64:ff9b::7f00:1]/a"),
        "https://a:b@push.example/a",
    ],
)
def test_only_public_https_addresses_are_asked(address: str, settings: Any) -> None:
    settings.VAPID_PRIVATE_KEY = vapid.new()
    sent = web_push.send(address, web_push.keys_of(**Browser().keys), b"{}")
    assert sent.outcome in (Outcome.GONE, Outcome.LATER)
    # A name without an address may have one later.
    assert (sent.outcome is Outcome.LATER) == ("the name has no address" in sent.reason)
    assert "/a" not in sent.reason


def test_an_endpoint_without_a_server_may_be_asked_again(service: PushService) -> None:
    subscription = service.browser("a") | {"endpoint": "http://127.0.0.1:9/a"}
    assert send(subscription).outcome is Outcome.LATER


@pytest.mark.parametrize(
    ("p256dh", "auth", "name"),
    [
        ("", "", "p256dh"),
        ("AAAA", b64(bytes(16)), "p256dh"),
        (b64(bytes(65)), b64(bytes(16)), "p256dh"),
        (b64(b"\x04" + b"\xff" * 64), b64(bytes(16)), "p256dh"),
        ("not base64!", b64(bytes(16)), "p256dh"),
        (POINT, "", "auth"),
        (POINT, b64(bytes(15)), "auth"),
        (POINT, "é" * 22, "auth"),
    ],
)
def test_keys_that_are_none_are_refused(p256dh: str, auth: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}$"):
        web_push.keys_of(p256dh, auth)


# --- the site's key -----------------------------------------------------------------------------
def test_a_key_is_read_in_base64url_and_as_pem_and_from_a_file(tmp_path: Any) -> None:
    text = vapid.new()
    key = vapid.parse(text)
    assert vapid.text_of(key) == text
    for form in (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL):
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        file = tmp_path / "vapid.pem"
        file.write_bytes(pem)
        for entry in (pem.decode(), pem.decode().replace("\n", "\\n"), str(file)):
            assert vapid.read(entry) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("short", "32 bytes"),
        (b64(bytes(32)), "curve P-256"),
        (b64(b"\xff" * 32), "curve P-256"),
        ("/nowhere/vapid.pem", "cannot be read"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "readable"),
    ],
)
def test_a_wrong_key_is_refused_and_never_shown(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        vapid.read(text)
    assert text not in str(caught.value)


def test_a_key_of_another_curve_is_refused() -> None:
    pem = ec.generate_private_key(ec.SECP384R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with pytest.raises(ValueError, match="curve P-256"):
        vapid.read(pem.decode())
