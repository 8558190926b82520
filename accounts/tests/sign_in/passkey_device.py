"""An authenticator as a person has it: makes passkeys and signs with them, as WebAuthn says."""

import base64
import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import encode_cbor

PRESENT, VERIFIED, BACKUP_ELIGIBLE, BACKED_UP, WITH_KEY = 1, 4, 8, 16, 64
GOOD = PRESENT | VERIFIED


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Device:
    """An authenticator with one key, in a browser on a page of `origin`."""

    def __init__(self, origin: str = "http://localhost:8000", rp_id: str = "localhost") -> None:
        self.origin, self.rp_id = origin, rp_id
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = secrets.token_bytes(32)
        self.count, self.flags = 0, GOOD
        self.handle = b""

    def create(self, options: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Answer `navigator.credentials.create`."""
        self.handle = base64.urlsafe_b64decode(options["user"]["id"] + "==")
        numbers = self.key.public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        made = b"\0" * 15 + b"\1" + len(self.id).to_bytes(2) + self.id + encode_cbor(key)
        data = self._data(WITH_KEY) + made
        statement = {"fmt": "none", "attStmt": {}, "authData": data} | changes
        return self._credential(
            clientDataJSON=text(self._client("webauthn.create", options)),
            attestationObject=text(encode_cbor(statement)),
            transports=["internal", "hybrid"],
        )

    def get(self, options: dict[str, Any], **changes: str) -> dict[str, Any]:
        """Answer `navigator.credentials.get`."""
        self.count += 1
        data, client = self._data(), self._client("webauthn.get", options)
        signed = data + hashlib.sha256(client).digest()
        parts = {
            "clientDataJSON": text(client),
            "authenticatorData": text(data),
            "signature": text(self.key.sign(signed, ec.ECDSA(hashes.SHA256()))),
            "userHandle": text(self.handle),
        }
        return self._credential(**(parts | changes))

    def _data(self, more: int = 0) -> bytes:
        site = hashlib.sha256(self.rp_id.encode()).digest()
        return site + bytes([self.flags | more]) + self.count.to_bytes(4)

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        found = {"type": kind, "challenge": options["challenge"], "origin": self.origin}
        return json.dumps(found | {"crossOrigin": False}).encode()

    def _credential(self, **response: Any) -> dict[str, Any]:
        own = text(self.id)
        return {"id": own, "rawId": own, "type": "public-key", "response": response}
