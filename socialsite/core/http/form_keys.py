"""The random key of each form in which people write, in its hidden field `once`.

- A form that was accepted leaves its key in a cookie for the next page, which passes it to the
  script that keeps drafts in the browser (`static/js/drafts.js`). That script deletes a draft only
  then, never because its form was sent.
- A form that arrives again with the same key and the same content has no second effect
  (`socialsite.core.requests.idempotency.once`).
"""

import hashlib
import secrets
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.safestring import SafeString

from socialsite.core.http.json import dumps

Response = TypeVar("Response", bound=HttpResponseBase)

FIELD = "once"
KEY_MAX = 40
# Long enough for the page that follows the form.
SECONDS = 120


def hidden_input() -> SafeString:
    """Return the hidden field with a new key."""
    return format_html('<input type="hidden" name="once" value="{}">', secrets.token_urlsafe(9))


def of(request: HttpRequest) -> str:
    """Return the key of the form that was sent; "" for none."""
    return _checked(request.POST.get(FIELD, ""))


def effect_of(request: HttpRequest, effect: str = "form") -> str:
    """Return a key of this form with this content, for `idempotency.once`; "" without a form key.

    The same form with other words is another effect: a browser may show it again after Back. A form
    with two effects, such as to save a draft and to publish it, has a key for each.
    """
    key = of(request)
    if not key:
        return ""
    names = sorted(name for name in request.POST if name != "csrfmiddlewaretoken")
    content = hashlib.sha256()
    content.update(dumps([request.path, [[name, request.POST.getlist(name)] for name in names]]))
    for name in sorted(request.FILES):
        for file in request.FILES.getlist(name):
            content.update(dumps([name, file.name or "", file.size or 0]))
            for chunk in file.chunks():
                content.update(chunk)
            file.seek(0)
    return f"{effect}:{content.hexdigest()}"


def accepted(request: HttpRequest, response: Response) -> Response:
    """Add the key of an accepted form to a response that redirects."""
    key = of(request)
    if key:
        response.set_cookie(
            _cookie(),
            key,
            max_age=SECONDS,
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
    return response


def last_accepted(request: HttpRequest) -> str:
    """Return the key of the form that led to this page; "" for none."""
    return _checked(request.COOKIES.get(_cookie(), ""))


def _cookie() -> str:
    return "__Host-sent" if settings.HTTPS else "sent"


def _checked(key: str) -> str:
    known = len(key) <= KEY_MAX and key.isascii()
    return key if known and key.replace("-", "a").replace("_", "a").isalnum() else ""
