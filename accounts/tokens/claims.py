"""The claims of access and refresh tokens, their checks, and the values that the code uses."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

from django.conf import settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.tokens import Token

from accounts.models import TokenVersion
from accounts.tokens.keys import key_ring
from socialsite.core.ids import MAX_ID

MAX_NUMBER = 2**31 - 1


class TokenId(NamedTuple):
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


class SiteToken(Token):
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
    def make(cls, user_id: int, client: str, version: int, token_id: TokenId) -> Self:
        """Create a token; its lifetime starts at the id's issue time."""
        token = cls()
        token.payload = {
            "uid": str(user_id),
            "cli": client,
            "ver": version,
            "bat": token_id.bat,
            "typ": cls.token_type,
            "exp": token_id.iat + int(cls.lifetime.total_seconds())
            if cls.lifetime
            else token_id.iat,
            "iat": token_id.iat,
            "jti": token_id.jti,
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


class AccessToken(SiteToken):
    """Token of every request; also contains the roles, `rol`."""

    token_type = "access"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.ACCESS_LIFETIME
    claims = SiteToken.claims | {"rol": (0, MAX_NUMBER)}


class RefreshToken(SiteToken):
    """Token that fetches new access tokens; contains no roles."""

    token_type = "refresh"  # noqa: S105  (a kind, not a secret)
    lifetime = settings.REFRESH_LIFETIME
