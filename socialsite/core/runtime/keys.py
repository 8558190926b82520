"""Keys that sign tokens: secrets (HS256), Ed25519 (EdDSA) and RSA (RS256).

- The algorithm belongs to the key: verification finds the key by its `kid` and accepts no other
  algorithm.
- The `kid` of a secret reveals nothing about it. The `kid` of a key pair is the thumbprint of its
  public half (RFC 7638), so that both halves have the same one.
- Errors name an entry by its number; they never show it.
"""

import base64
import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    RSAPublicKey,
    generate_private_key,
)
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

Kind = Literal["secret", "ed25519", "rsa"]

SECRET_BYTES = 32
# Any random text of that length has more different characters than this.
SECRET_CHARACTERS = 8
NEW_SECRET_BYTES = 48
RSA_BITS = 2048
NEW_RSA_BITS = 3072
PEM = "-----BEGIN "


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the ring; `signing` is None if only the public half is known.

    `jwk` is the public half that others verify with, None for a secret.
    """

    kid: str
    algorithm: str
    verifying: Any = field(repr=False)
    signing: Any = field(repr=False)
    jwk: dict[str, str] | None = None

    @property
    def header(self) -> dict[str, str]:
        """The header of every token signed with this key."""
        return {"alg": self.algorithm, "kid": self.kid, "typ": "JWT"}


def read(entries: Sequence[str]) -> list[str]:
    r"""Normalize entries: replace a file path by its PEM text, and `\n` by line ends.

    Raises ValueError if the entries are not a list of keys, see `ring`.
    """
    texts = []
    for number, entry in enumerate(entries, 1):
        with _naming(number):
            texts.append(_text(entry))
    ring(texts)
    return texts


def ring(texts: Sequence[str]) -> list[Key]:
    """Parse keys; the first one must be able to sign. ValueError describes the invalid entry."""
    found: list[Key] = []
    for number, text in enumerate(texts, 1):
        with _naming(number):
            key = parse(text)
            if key.signing is None and not found:
                raise ValueError("is a public key, and the first key has to sign")
            if key.kid in [other.kid for other in found]:
                raise ValueError("is a duplicate; a private key and its public half are one key")
            found.append(key)
    return found


def parse(text: str) -> Key:
    """Parse a secret or a PEM text into a key; ValueError describes the problem."""
    if PEM in text:
        return _pair(text)
    if len(text.encode()) < SECRET_BYTES:
        raise ValueError(f"is too short: a secret has at least {SECRET_BYTES} bytes")
    if len(set(text)) < SECRET_CHARACTERS:
        raise ValueError("is too easy to guess: generate one with `manage.py make_key`")
    kid = hashlib.sha256(b"kid:" + text.encode()).hexdigest()[:8]
    return Key(kid, "HS256", verifying=text, signing=text)


def new(kind: Kind) -> str:
    """Return a new key in one line, in the format of JWT_KEYS."""
    if kind == "secret":
        return secrets.token_urlsafe(NEW_SECRET_BYTES)
    private = Ed25519PrivateKey.generate() if kind == "ed25519" else _new_rsa()
    text = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return text.decode().strip().replace("\n", "\\n")


def _new_rsa() -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=NEW_RSA_BITS)


@contextlib.contextmanager
def _naming(number: int) -> Iterator[None]:
    """Put the number of the entry before the text of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"key {number} {error}") from None


def _text(entry: str) -> str:
    if PEM in entry:
        return entry.replace("\\n", "\n").strip()
    # A mistyped path must not become a secret that is easy to guess.
    if not (entry.startswith(("/", "./", "../", "~")) or entry.lower().endswith(".pem")):
        return entry
    try:
        text = Path(entry).expanduser().read_text().strip()
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"looks like the path of a file that cannot be read: {reason}") from None
    if PEM not in text:
        raise ValueError("is the path of a file without a PEM key")
    return text


def _pair(text: str) -> Key:
    if not text.startswith(PEM) or text.count(PEM) != 1:
        raise ValueError("is not exactly one PEM key")
    if "ENCRYPTED" in text:
        raise ValueError("is encrypted: store it without a password")
    try:
        if "PRIVATE KEY" in text:
            private: Any = serialization.load_pem_private_key(text.encode(), None)
            public: Any = private.public_key()
        else:
            private, public = None, serialization.load_pem_public_key(text.encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is not a readable PEM key") from None
    match public:
        case Ed25519PublicKey():
            algorithm, members = "EdDSA", OKPAlgorithm.to_jwk(public, as_dict=True)
        case RSAPublicKey():
            if public.key_size < RSA_BITS:
                raise ValueError(f"is too weak: RSA needs at least {RSA_BITS} bits")
            algorithm, members = "RS256", RSAAlgorithm.to_jwk(public, as_dict=True)
        case _:
            raise ValueError("is of an unknown kind: use Ed25519 or RSA")
    members = {name: members[name] for name in ("crv", "e", "kty", "n", "x") if name in members}
    canonical = json.dumps(members, sort_keys=True, separators=(",", ":")).encode()
    kid = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    jwk = members | {"kid": kid, "alg": algorithm, "use": "sig"}
    return Key(kid, algorithm, verifying=public, signing=private, jwk=jwk)
