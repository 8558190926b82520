"""The key with which the site identifies itself to push services (VAPID, RFC 8292).

It is a private key on the curve P-256: its 32 bytes in base64url, as most programs write VAPID
keys, or a PEM text or the path of a PEM file. Browsers get its public half. Errors never show a
key.
"""

import base64
import binascii
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

KEY_BYTES = 32
PEM = "-----BEGIN "


def new() -> str:
    """Return a new private key in base64url."""
    return text_of(ec.generate_private_key(ec.SECP256R1()))


def parse(text: str) -> ec.EllipticCurvePrivateKey:
    """Return the private key of a text; raises ValueError with the problem."""
    if PEM in text:
        return _of_pem(text.replace("\\n", "\n").strip())
    raw = decoded(text)
    if len(raw) != KEY_BYTES:
        raise ValueError(f"must be {KEY_BYTES} bytes in base64url, or a PEM key")
    try:
        return ec.derive_private_key(int.from_bytes(raw), ec.SECP256R1())
    except ValueError:
        raise ValueError("is no key of the curve P-256") from None


def read(text: str) -> str:
    """Return a key as 32 bytes in base64url, whatever its format; ValueError with the problem."""
    if PEM not in text and (text.startswith(("/", "./", "../", "~")) or text.endswith(".pem")):
        try:
            text = Path(text).expanduser().read_text()
        except (OSError, RuntimeError, ValueError):
            raise ValueError("looks like the path of a file that cannot be read") from None
    return text_of(parse(text))


def text_of(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the private half in base64url."""
    return encoded(key.private_numbers().private_value.to_bytes(KEY_BYTES))


def public_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half as an uncompressed point of 65 bytes."""
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def encoded(value: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def decoded(text: str) -> bytes:
    """Return the bytes of a text in base64url; empty for any other text."""
    if not text.isascii() or "+" in text or "/" in text:
        return b""
    text = text.rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _of_pem(text: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is not a readable PEM key") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("is no key of the curve P-256")
    return key
