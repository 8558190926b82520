"""Access and refresh tokens: minting, decoding, and the comparison with the floors.

- Every invalid token raises InvalidToken; ExpiredJwt is for a valid token whose time is over.
- The key is found by its `kid` in JWT_KEYS and determines the algorithm. The first key signs, all
  keys verify.
- A refresh token can be computed again byte for byte from its `Mark`, since no algorithm here signs
  with random numbers.
- A process may cache the claims of an access token, as they never change. Revocation is checked on
  every request.
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
from accounts.models import TokenVersion, User
from socialsite.core.http.errors import BannedAccessToken, ExpiredJwt, InvalidToken
from socialsite.core.ids import MAX_ID
from socialsite.core.runtime import keys

MAX_LENGTH = 4096
MAX_NUMBER = 2**31 - 1
# Access tokens whose claims a process caches; each takes about a kilobyte.
REMEMBERED = 4096
COMPACT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


class TokenPair(NamedTuple):
    """The tokens issued by sign-in and refresh."""

    access: str
    refresh: str


class Mark(NamedTuple):
    """Identifies a refresh token of a client: its id, issue time (Unix seconds) and batch."""

    jti: str
    iat: int
    bat: int


@dataclass(frozen=True, slots=True)
class Principal:
    """Claims of a valid token: person, client, numbers. `roles` is only a hint."""

    user_id: int
    client: str
    version: int
    batch: int
    jti: str
    expires: int
    roles: int = 0


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


class _SiteToken(Token):
    """Claims of both kinds: uid cli ver bat typ exp iat jti iss aud."""

    claims: ClassVar[dict[str, tuple[int, int]]] = {
        "ver": (1, MAX_NUMBER),
        "bat": (1, MAX_NUMBER),
        "iat": (0, 2**53),
        "exp": (0, 2**53),
    }

    def get_token_backend(self) -> TokenBackend:
        """Return our key ring."""
        return key_ring()

    @classmethod
    def make(cls, user_id: int, client: str, version: int, mark: Mark) -> Self:
        """Create a token; its lifetime starts at the mark's time."""
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
        """Check type and shape of the claims, but not the expiry. Raises TokenError."""
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
        if not (isinstance(client, str) and 0 < len(client) <= TokenVersion.CLIENT_MAX):
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
    """Token of every request; also contains the roles, `rol`."""

    token_type = "access"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.ACCESS_LIFETIME
    claims = _SiteToken.claims | {"rol": (0, MAX_NUMBER)}


class RefreshToken(_SiteToken):
    """Token that fetches new access tokens; contains no roles."""

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
    """Decode an access token; does not check revocation. Raises InvalidToken or ExpiredJwt."""
    return _in_time(_remembered(key_ring(), token))


def decode_refresh(token: str) -> Principal:
    """Decode a refresh token; does not check revocation. Raises InvalidToken or ExpiredJwt."""
    return _in_time(_read(RefreshToken, token).principal)


def decode_any(token: str) -> AccessToken | RefreshToken:
    """Decode a token of either kind. Raises InvalidToken or ExpiredJwt, as above."""
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

    `floors` is None for an unknown client, which raises too.
    """
    if floors is None or principal.batch <= floors.batch or principal.version <= floors.version:
        raise BannedAccessToken
