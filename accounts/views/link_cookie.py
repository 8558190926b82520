"""Moves the secret of a mailed link from the URL into a cookie.

The link sets the cookie and redirects. So the URL of the form contains no secret, and no log,
browser history or Referer header does. The cookie is sent only to these pages, and lasts as long as
a person needs to fill in a form.
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
    """The cookie of one kind of link, sent only to the URLs below `path`."""

    name: str
    path: str

    @property
    def cookie(self) -> str:
        """Name of the cookie; a cookie with a path cannot have the prefix __Host-."""
        return f"__Secure-{self.name}" if settings.HTTPS else self.name

    def put(self, response: HttpResponseBase, token: str) -> None:
        """Set the cookie."""
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
        """Return the token in the cookie, empty for none."""
        try:
            found: Any = signing.loads(
                request.COOKIES.get(self.cookie, ""), salt=self._salt, max_age=SECONDS
            )
        except signing.BadSignature:
            return ""
        return str(found)

    def drop(self, response: HttpResponseBase) -> None:
        """Delete the cookie."""
        response.delete_cookie(self.cookie, path=self.path, samesite="Lax")

    @property
    def _salt(self) -> str:
        return f"accounts.views.carried.{self.name}"  # cookies that are on their way depend on it


RECOVERY = Carrier("recovery", "/recover")
CONFIRMATION = Carrier("confirmation", "/email")
