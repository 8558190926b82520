"""WebSocket handshake: reads the credential and checks the Origin.

- A Bearer token takes precedence over a one-use ticket, a ticket over the cookies.
- A browser sends cookies for any page and always names the page in the Origin header. So cookies
  count only with an Origin of this site. A token or a ticket is sent by a program, which sends no
  Origin. With a foreign Origin nothing counts.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.cookie import parse_cookie

from accounts.request_auth import authentication, cookies
from socialsite.core.http import ip_addresses

TICKET_MAX = 100


class ForeignPage(Exception):
    """The Origin is of another site or missing."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """The one credential that counts. Only a browser sends `refresh`, along with `access`."""

    access: str = ""
    refresh: str = ""
    ticket: str = ""


class _Addressed(HttpRequest):
    """Minimal request for Django's checks of the host and the public address."""

    def __init__(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> None:
        super().__init__()
        self._secure = scope.get("scheme") in ("wss", "https")
        self.META = {
            "HTTP_" + name.decode("latin-1").upper().replace("-", "_"): value.decode("latin-1")
            for name, value in headers.items()
        }

    def _get_scheme(self) -> str:
        return "https" if self._secure else "http"


def address_of(scope: dict[str, Any]) -> str:
    """Return the client's IP address, as for any request; empty when it is unknown."""
    request = _Addressed(scope, dict(scope["headers"]))
    request.META["REMOTE_ADDR"] = (scope.get("client") or [""])[0]
    return ip_addresses.address_of(request)


def read(scope: dict[str, Any]) -> Handshake:
    """Return the credential of a handshake. Raises ForeignPage; InvalidToken for a bad header."""
    headers = dict(scope["headers"])
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    if origins and not (len(origins) == 1 and _is_ours(origins[0], scope, headers)):
        raise ForeignPage
    token = authentication.bearer(headers.get(b"authorization", b""))
    if token is not None:
        return Handshake(access=token)
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    if "ticket" in query:
        return Handshake(ticket=query["ticket"][0][:TICKET_MAX])
    if not origins:
        raise ForeignPage
    jar = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
    return Handshake(access=jar.get(cookies.ACCESS, ""), refresh=jar.get(cookies.REFRESH, ""))


def _is_ours(origin: str, scope: dict[str, Any], headers: dict[bytes, bytes]) -> bool:
    """Return whether the Origin is the public address or the request's own host and port."""
    if origin == settings.SITE_URL:
        return True
    request = _Addressed(scope, headers)
    try:
        return origin == f"{request.scheme}://{request.get_host()}"
    except (DisallowedHost, KeyError):  # without a Host header, Django would use the server's name
        return False
