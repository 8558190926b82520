"""The secret of a mailed link, carried by a cookie to the page behind it.

The link itself sets the cookie and leads on: the address of the page with the form holds no secret,
so that none stands in a log, in the history of pages, or in what other sites are told. The cookie
goes to these pages only and lasts as long as somebody takes to fill in a form.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase

SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Carrier:
    """The cookie of one kind of link, sent to the addresses below `path`."""

    name: str
    path: str

    @property
    def cookie(self) -> str:
        """The name of the cookie; the path excludes the prefix __Host-."""
        return f"__Secure-{self.name}" if settings.HTTPS else self.name

    def put(self, response: HttpResponseBase, token: str) -> None:
        """Have the browser show a token from now on."""
        response.set_cookie(
            self.cookie,
            signing.dumps(token, salt=self._salt),
            max_age=SECONDS,
            path=self.path,
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )

    def token(self, request: HttpRequest) -> str:
        """Return the token that a browser shows, empty for none."""
        try:
            found: Any = signing.loads(
                request.COOKIES.get(self.cookie, ""), salt=self._salt, max_age=SECONDS
            )
        except signing.BadSignature:
            return ""
        return str(found)

    def drop(self, response: HttpResponseBase) -> None:
        """Have the browser forget the token."""
        response.delete_cookie(self.cookie, path=self.path, samesite="Lax")

    @property
    def _salt(self) -> str:
        return f"accounts.views.carried.{self.name}"


RECOVERY = Carrier("recovery", "/recover")
CONFIRMATION = Carrier("confirmation", "/email")
