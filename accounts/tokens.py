"""Access and refresh tokens: minting, reading, and the check against the floors.

- Whatever is wrong with a token is InvalidToken; ExpiredJwt is one that is right but for its time.
- The key is found by its `kid` in JWT_KEYS, and the algorithm is the key's: the first signs, all
  verify.
- A refresh token can be made again byte for byte from its `Mark`: no key here signs by chance.
- What an access token says may be remembered in the process, as it never changes. Whether it
  still counts is asked every time.
"""

import base64
import functools
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import uuid4

import jwt
from django.conf import settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import Token

from accounts.cache import Floors
from accounts.models import User
from socialsite.core import keys
from socialsite.core.errors import BannedAccessToken, ExpiredJwt, InvalidToken
from socialsite.core.ids import MAX_ID

MAX_LENGTH = 4096
MAX_NUMBER = 2**31 - 1
CLIENT_MAX = 64
# Access tokens whose claims a process remembers; one takes about a kilobyte.
REMEMBERED = 4096
COMPACT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


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
    """What a valid token says: who, on which client, with which numbers. `rol` is a hint."""

    user_id: int
    client: str
    version: int
    batch: int
    jti: str
    expires: int
    roles: int = 0


class KeyRing(TokenBackend):
    """simplejwt's backend with several keys, of which each has its own algorithm."""

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
        """Return the payload of a token signed by one of the keys; its time is not looked at.

        A header must be what the key of its `kid` would write, so that no token chooses an
        algorithm or brings along a key, or an address of one. Raises TokenError.
        """
        # PyJWT also takes a padded signature, a second spelling of the same token.
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


def key_id(text: str) -> str:
    """Return the public name of a key."""
    return keys.parse(text).kid


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
        """Check type and shape of the claims, but not the time; raises TokenError."""
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
    """The token of every request; also carries the roles, `rol`."""

    token_type = "access"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.ACCESS_LIFETIME
    claims = _SiteToken.claims | {"rol": (0, MAX_NUMBER)}


class RefreshToken(_SiteToken):
    """The token that fetches new access tokens; no roles inside."""

    token_type = "refresh"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.REFRESH_LIFETIME


Kind = TypeVar("Kind", bound=_SiteToken)
_rings: dict[tuple[str, ...], KeyRing] = {}


def key_ring() -> KeyRing:
    """Return the ring of the configured keys."""
    texts = tuple(settings.JWT_KEYS)
    if texts not in _rings:
        _rings[texts] = KeyRing(texts)
    return _rings[texts]


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
    return _in_time(_remembered(key_ring(), token))


def decode_refresh(token: str) -> Principal:
    """Read a refresh token; InvalidToken or ExpiredJwt. Says nothing about revocation."""
    return _in_time(_read(RefreshToken, token).principal)


def decode_any(token: str) -> AccessToken | RefreshToken:
    """Read a token of either kind; InvalidToken or ExpiredJwt, as above."""
    found: AccessToken | RefreshToken
    try:
        found = _read(AccessToken, token)
    except InvalidToken:
        found = _read(RefreshToken, token)
    _in_time(found.principal)
    return found


def _read(kind: type[Kind], token: str) -> Kind:
    if len(token) > MAX_LENGTH:
        raise InvalidToken
    try:
        return kind(token)  # type: ignore[arg-type]  # simplejwt's annotation is wrong
    except TokenError:
        raise InvalidToken from None


@functools.lru_cache(REMEMBERED)
def _remembered(ring: KeyRing, token: str) -> Principal:
    return _read(AccessToken, token).principal


def _in_time(principal: Principal) -> Principal:
    if principal.expires <= time.time():
        raise ExpiredJwt
    return principal


def compare(principal: Principal, floors: Floors | None) -> None:
    """Raise BannedAccessToken when the token is at or below a floor: batch, then version.

    No floors mean that there is no such client.
    """
    if floors is None or principal.batch <= floors.batch or principal.version <= floors.version:
        raise BannedAccessToken
