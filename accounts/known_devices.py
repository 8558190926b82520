"""A cookie that says: this browser signed in to these accounts before (OWASP's device cookie).

It lets nobody in. It only gives the browser a budget of failed attempts of its own, so that what
strangers try with an account does not keep its person out. Signed, bound to the account, sent to
the pages of the log-in only.
"""

import secrets
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# The path excludes the prefix __Host-.
COOKIE = "__Secure-known" if settings.HTTPS else "known"
PATH = "/login"
MAX_AGE = 400 * 86_400  # browsers keep none longer
SALT = "accounts.known_devices"
# The last people of a shared browser; a longer cookie would be sent for nothing.
PEOPLE_MAX = 5


def mark_of(request: HttpRequest, user_id: int) -> str:
    """Return the mark that this browser was given for a person, empty for none."""
    return _read(request).get(str(user_id), "")


def remember(request: HttpRequest, response: HttpResponseBase, user_id: int) -> None:
    """Mark the browser as one in which this person signed in; its old mark stays."""
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
