"""Cookie with the accounts that signed in on this browser before (OWASP's device cookie).

It is no credential. It only gives the browser its own budget of failed attempts, so that strangers'
attempts on an account do not lock its person out. It is signed, bound to the account, and sent only
to the log-in pages.
"""

import secrets
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# A cookie with a path cannot have the prefix __Host-.
COOKIE = "__Secure-known" if settings.HTTPS else "known"
PATH = "/login"
MAX_AGE = 400 * 86_400  # the longest time that browsers accept
SALT = "accounts.sign_in.known_devices"
# The last people of a shared browser; this bounds the size of the cookie.
PEOPLE_MAX = 5


def mark_of(request: HttpRequest, user_id: int) -> str:
    """Return this browser's mark for a person; empty for none."""
    return _read(request).get(str(user_id), "")


def remember(request: HttpRequest, response: HttpResponseBase, user_id: int) -> None:
    """Mark the browser as one in which this person signed in; an old mark stays."""
    known = _read(request)
    mark = known.pop(str(user_id), "") or secrets.token_urlsafe(12)
    kept = dict(list(known.items())[-(PEOPLE_MAX - 1) :]) | {str(user_id): mark}
    response.set_cookie(
        COOKIE,
        signing.dumps(kept, salt=SALT),
        max_age=MAX_AGE,
        path=PATH,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> dict[str, str]:
    try:
        found: Any = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        return {}
    return found
