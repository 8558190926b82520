"""Access and refresh tokens: minting, reading, and the check against the floors (A2-A7).

Whatever is wrong with a token is InvalidToken; ExpiredJwt is one that is right but for its time.
The algorithm is pinned, the key is found by its `kid` in JWT_KEYS: the first signs, all verify. A
refresh token can be made again byte for byte from its `Mark`.
"""

import hashlib
import time
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self
from uuid import uuid4

import jwt
from django.conf import settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import ExpiredTokenError, TokenError
from rest_framework_simplejwt.tokens import Token

from accounts.cache import Floors
from accounts.models import User
from socialsite.core.errors import BannedAccessToken, ExpiredJwt, InvalidToken
from socialsite.core.ids import MAX_ID

MAX_LENGTH = 4096
MAX_NUMBER = 2**31 - 1
CLIENT_MAX = 64


class TokenPair(NamedTuple):
    """What a person gets at sign-in and refresh."""

    access: str
    refresh: str


class Mark(NamedTuple):
    """What tells one refresh token of a client from another: its id, time (Unix seconds), batch."""

    jti: str
    iat: int
    bat: int


@dataclass(frozen=True, slots=True)
class Principal:
    """What a valid token says: who, on which client, with which numbers. `rol` is a hint (T10)."""

    user_id: int
    client: str
    version: int
    batch: int
    jti: str
    expires: int
    roles: int = 0


class KeyRing(TokenBackend):
    """simplejwt's backend with a key id in the header and several keys to verify with."""

    def __init__(self, keys: list[str]) -> None:
        options = settings.SIMPLE_JWT
        super().__init__(
            options["ALGORITHM"],
            signing_key=keys[0],
            audience=options["AUDIENCE"],
            issuer=options["ISSUER"],
        )
        self._keys = {key_id(key): self._prepare_key(key) for key in keys}
        self._signing_id = key_id(keys[0])

    def encode(self, payload: dict[str, Any]) -> str:
        """Sign a payload, with audience, issuer and key id."""
        return jwt.encode(
            payload | {"aud": self.audience, "iss": self.issuer},
            self._keys[self._signing_id],
            algorithm=self.algorithm,
            headers={"kid": self._signing_id},
        )

    def decode(self, token: Any, verify: bool = True) -> dict[str, Any]:
        """Return the payload of a token signed by one of the keys; its time is not looked at."""
        try:
            key = self._keys[jwt.get_unverified_header(token)["kid"]]
            return jwt.decode(
                token,
                key,
                algorithms=[self.algorithm],
                audience=self.audience,
                issuer=self.issuer,
                options={"verify_exp": False, "verify_iat": False, "require": ["aud", "iss"]},
            )
        except (jwt.PyJWTError, KeyError, ValueError):
            raise TokenError from None


def key_id(key: str) -> str:
    """Return the public name of a key."""
    return hashlib.sha256(b"kid:" + key.encode()).hexdigest()[:8]


class _SiteToken(Token):
    """Claims both kinds carry: uid cli ver bat typ exp iat jti iss aud."""

    claims: ClassVar[dict[str, tuple[int, int]]] = {
        "ver": (1, MAX_NUMBER),
        "bat": (1, MAX_NUMBER),
        "iat": (0, 2**53),
        "exp": (0, 2**53),
    }

    def get_token_backend(self) -> TokenBackend:
        """Use our ring of keys."""
        return key_ring()

    @classmethod
    def make(cls, user_id: int, client: str, version: int, mark: Mark) -> Self:
        """Make a token; its lifetime counts from the mark's time."""
        token = cls()
        token.payload = {
            "uid": str(user_id),
            "cli": client,
            "ver": version,
            "bat": mark.bat,
            "typ": cls.token_type,
            "exp": mark.iat + int(cls.lifetime.total_seconds()) if cls.lifetime else mark.iat,
            "iat": mark.iat,
            "jti": mark.jti,
        }
        return token

    def verify(self) -> None:
        """Check type and shape of the claims, the time last; raises TokenError."""
        self.verify_token_type()
        for name, (low, high) in self.claims.items():
            value = self.payload.get(name)
            if type(value) is not int or not low <= value <= high:
                raise TokenError
        uid, client, jti = (self.payload.get(name) for name in ("uid", "cli", "jti"))
        if not (isinstance(uid, str) and uid.isascii() and uid.isdigit() and len(uid) <= 19):
            raise TokenError
        if not (0 < int(uid) <= MAX_ID):
            raise TokenError
        if not (isinstance(client, str) and 0 < len(client) <= CLIENT_MAX):
            raise TokenError
        if not (isinstance(jti, str) and 0 < len(jti) <= 32):
            raise TokenError
        if self.payload["exp"] <= time.time():
            raise ExpiredTokenError

    @property
    def principal(self) -> Principal:
        """The claims as plain values."""
        claims = self.payload
        return Principal(
            user_id=int(claims["uid"]),
            client=claims["cli"],
            version=claims["ver"],
            batch=claims["bat"],
            jti=claims["jti"],
            expires=claims["exp"],
            roles=claims.get("rol", 0),
        )


class AccessToken(_SiteToken):
    """The token of every request; also carries the roles, `rol` (A2)."""

    token_type = "access"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.ACCESS_LIFETIME
    claims = _SiteToken.claims | {"rol": (0, MAX_NUMBER)}


class RefreshToken(_SiteToken):
    """The token that fetches new access tokens; no roles inside (A3)."""

    token_type = "refresh"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.REFRESH_LIFETIME


_rings: dict[tuple[str, ...], KeyRing] = {}


def key_ring() -> KeyRing:
    """Return the ring of the configured keys."""
    keys = tuple(settings.JWT_KEYS)
    if keys not in _rings:
        _rings[keys] = KeyRing(list(keys))
    return _rings[keys]


def new_mark(batch: int) -> Mark:
    """Return the mark of a token issued now."""
    return Mark(uuid4().hex, int(time.time()), batch)


def mint(user: User, client: str, version: int, batch: int, refresh: Mark) -> TokenPair:
    """Return a pair: an access token with the person's roles, and the refresh token of a mark."""
    access = AccessToken.make(user.pk, client, version, new_mark(batch))
    access["rol"] = user.roles
    return TokenPair(str(access), str(RefreshToken.make(user.pk, client, version, refresh)))


def decode_access(token: str) -> Principal:
    """Read an access token; InvalidToken or ExpiredJwt. Says nothing about revocation."""
    return _decode(AccessToken, token)


def decode_refresh(token: str) -> Principal:
    """Read a refresh token; InvalidToken or ExpiredJwt. Says nothing about revocation."""
    return _decode(RefreshToken, token)


def _decode(kind: type[_SiteToken], token: str) -> Principal:
    if len(token) > MAX_LENGTH:
        raise InvalidToken
    try:
        return kind(token).principal  # type: ignore[arg-type]  # simplejwt's annotation is wrong
    except ExpiredTokenError:
        raise ExpiredJwt from None
    except TokenError:
        raise InvalidToken from None


def compare(principal: Principal, floors: Floors | None) -> None:
    """Raise BannedAccessToken when the token is at or below a floor: batch, then version (A7).

    No floors mean that there is no such client.
    """
    if floors is None or principal.batch <= floors.batch or principal.version <= floors.version:
        raise BannedAccessToken
