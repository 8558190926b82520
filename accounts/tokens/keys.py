"""The keys of tokens: the first one signs, all of them verify.

The key is found by the `kid` of a token in JWT_KEYS, and determines the algorithm.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import jwt
from django.conf import settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenError

from socialsite.core.runtime import keys

COMPACT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_rings: "dict[tuple[str, ...], KeyRing]" = {}


class KeyRing(TokenBackend):
    """simplejwt's backend with several keys, each with its own algorithm."""

    def __init__(self, texts: Sequence[str]) -> None:
        options = settings.SIMPLE_JWT
        self.keys = keys.ring(texts)
        self._by_id = {key.kid: key for key in self.keys}
        super().__init__(
            self.keys[0].algorithm,
            signing_key=self.keys[0].signing,
            audience=options["AUDIENCE"],
            issuer=options["ISSUER"],
        )

    def encode(self, payload: dict[str, Any]) -> str:
        """Sign a payload with the first key; adds audience, issuer and key id."""
        key = self.keys[0]
        return jwt.encode(
            payload | {"aud": self.audience, "iss": self.issuer},
            key.signing,
            algorithm=key.algorithm,
            headers=key.header,
        )

    def decode(self, token: Any, verify: bool = True) -> dict[str, Any]:
        """Return the payload of a token signed by a known key; does not check its expiry.

        The header must equal the one that the key of its `kid` writes, so that a token cannot
        choose an algorithm or bring a key or a key's URL. Raises TokenError.
        """
        # PyJWT also accepts a padded signature, a second spelling of the same token.
        if not COMPACT.fullmatch(token):
            raise TokenError
        try:
            header = _header(token)
            key = self._by_id[header["kid"]]
            if header != key.header:
                raise TokenError
            return jwt.decode(
                token,
                key.verifying,
                algorithms=[key.algorithm],
                audience=self.audience,
                issuer=self.issuer,
                options={"verify_exp": False, "verify_iat": False, "require": ["aud", "iss"]},
            )
        except (jwt.PyJWTError, KeyError, TypeError, ValueError, RecursionError):
            raise TokenError from None


def _header(token: str) -> Any:
    head = token.partition(".")[0]
    return json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))


def key_ring() -> KeyRing:
    """Return the ring of the configured keys."""
    texts = tuple(settings.JWT_KEYS)
    if texts not in _rings:
        _rings[texts] = KeyRing(texts)
    return _rings[texts]
