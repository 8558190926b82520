"""Messages to browsers through their push services: encryption (RFC 8291), VAPID (RFC 8292).

- A message is encrypted to the keys of one browser, so the push service cannot read it. All
  messages are padded to the same length, so their length reveals nothing about the texts.
- The endpoint is an address that a person gave the site, so requests to it use `outgoing.fetch`,
  without redirects. It is a secret: errors and logs name its host at most.
"""

import functools
import os
import struct
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from socialsite.core.client import outgoing
from socialsite.core.runtime import vapid

ENDPOINT_MAX = 1024
POINT_BYTES, AUTH_BYTES = 65, 16
# The same in base64url, with padding.
P256DH_MAX, AUTH_MAX = 88, 24
# Push services accept 4096 bytes. The header has 86 of them, the tag 16, and the delimiter 1.
PLAIN_MAX = 3072
RECORD_BYTES = 4096
HEADER_BYTES = 16 + 4 + 1 + POINT_BYTES
# A push service stores a message for a browser that is offline, and nobody can revoke it. So the
# time is short.
TTL_SECONDS = 4 * 3600
TOKEN_SECONDS = 12 * 3600
TIMEOUT_SECONDS = 5.0
ANSWER_BYTES = 4096


class Keys(NamedTuple):
    """The keys of one browser: its public point of P-256, and the secret of its subscription."""

    p256dh: bytes
    auth: bytes


class Outcome(Enum):
    """The result of one message; after GONE the endpoint will accept no message again."""

    SENT = "sent"
    GONE = "gone"
    LATER = "later"
    REFUSED = "refused"


class Sent(NamedTuple):
    """The outcome of a message; `reason` is for logs, `seconds` the Retry-After of the service."""

    outcome: Outcome
    reason: str = ""
    seconds: int | None = None


def is_on() -> bool:
    """Return whether the site has a key, so that browsers may subscribe."""
    return bool(settings.VAPID_PRIVATE_KEY)


def public_key() -> str:
    """Return the site's public key in base64url, for `PushManager.subscribe`; empty without one."""
    return vapid.encoded(vapid.public_of(_key(settings.VAPID_PRIVATE_KEY))) if is_on() else ""


@functools.lru_cache(maxsize=4)
def _key(text: str) -> ec.EllipticCurvePrivateKey:
    return vapid.parse(text)


def keys_of(p256dh: str, auth: str) -> Keys:
    """Return the keys of a browser from base64url; raises ValueError with the name of a bad one."""
    point, secret = vapid.decoded(p256dh), vapid.decoded(auth)
    try:
        if len(point) != POINT_BYTES:
            raise ValueError("length")
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise ValueError("p256dh") from None
    if len(secret) != AUTH_BYTES:
        raise ValueError("auth")
    return Keys(point, secret)


def host_of(endpoint: str) -> str:
    """Return the host of an endpoint, for logs and staff; the rest of it is a secret."""
    try:
        return urlsplit(endpoint).hostname or ""
    except ValueError:
        return ""


# --- the message --------------------------------------------------------------------------------
def encrypt(
    plain: bytes,
    keys: Keys,
    *,
    own: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes = b"",
    size: int = PLAIN_MAX,
) -> bytes:
    """Return the body of a request: `aes128gcm` with one record, padded to `size` bytes of text.

    The key pair and the salt are new for each message; only tests give them.
    """
    if len(plain) > size or size > PLAIN_MAX:
        raise ValueError("too long a message")
    own, salt = own or ec.generate_private_key(ec.SECP256R1()), salt or os.urandom(16)
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), keys.p256dh)
    point = vapid.public_of(own)
    info = b"WebPush: info\0" + keys.p256dh + point
    secret = _derived(own.exchange(ec.ECDH(), theirs), keys.auth, info, 32)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    # 2 delimits the last record from its padding.
    record = plain + b"\x02" + bytes(size - len(plain))
    header = salt + struct.pack("!IB", RECORD_BYTES, len(point)) + point
    return header + AESGCM(key).encrypt(nonce, record, None)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


def authorization(endpoint: str) -> str:
    """Return the header with which the site identifies itself to one push service."""
    parts = urlsplit(endpoint)
    claims: dict[str, Any] = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(time.time()) + TOKEN_SECONDS,
        "sub": settings.VAPID_SUBJECT,
    }
    token = jwt.encode(claims, _key(settings.VAPID_PRIVATE_KEY), algorithm="ES256")
    return f"vapid t={token}, k={public_key()}"


# --- the request --------------------------------------------------------------------------------
def send(endpoint: str, keys: Keys, plain: bytes, *, topic: str = "", urgency: str = "") -> Sent:
    """Send one message to a browser and return its outcome; failures of the service raise nothing.

    A message with the `topic` of an earlier one that waits at the service replaces it.
    """
    headers = {
        "Authorization": authorization(endpoint),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(TTL_SECONDS),
    }
    headers |= {name: text for name, text in (("Topic", topic), ("Urgency", urgency)) if text}
    try:
        answer = outgoing.fetch(
            endpoint,
            method="POST",
            headers=headers,
            content=encrypt(plain, keys),
            timeout=TIMEOUT_SECONDS,
            max_bytes=ANSWER_BYTES,
            cut=True,
        )
    except outgoing.Refused as error:
        return Sent(Outcome.GONE, str(error))
    except outgoing.Failed as error:
        return Sent(Outcome.LATER, str(error))
    return _outcome(answer)


def _outcome(answer: outgoing.Answer) -> Sent:
    status = answer.status
    if 200 <= status < 300:
        return Sent(Outcome.SENT)
    if status in (404, 410):
        return Sent(Outcome.GONE, f"status {status}")
    if status == 429 or status >= 500:
        return Sent(Outcome.LATER, f"status {status}", retry_after(answer.headers))
    return Sent(Outcome.REFUSED, f"status {status}")


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Return the seconds of a Retry-After header, which has a number or a date; None for none."""
    text = headers.get("retry-after", "").strip()[:64]
    if text.isascii() and text.isdigit():
        return int(text[:9])
    try:
        return max(0, int(parsedate_to_datetime(text).timestamp() - time.time()))
    except (TypeError, ValueError, OverflowError):
        return None
