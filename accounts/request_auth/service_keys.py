"""Authenticates other services by the keys of SERVICE_KEYS (RFC 7662, section 2.1).

A key is sent as `Authorization: Bearer <key>`, or with HTTP Basic as the password of the service's
name. No other credential counts: a signed-in person is not a service.
"""

import base64
import hashlib
import hmac
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.request import Request

from socialsite.core.errors import NotAuthenticated
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import allowances, budgets
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.runtime.service_keys import Service

CHALLENGE = 'Bearer realm="services", Basic realm="services"'


class _Shown(NamedTuple):
    """A key that was sent, and its name; None for a Bearer key."""

    key: str
    name: str | None = None


def service_of(header: bytes) -> Service | None:
    """Return the service whose key an Authorization header contains, None for a wrong key.

    Compares every configured key in constant time. A key without a name matches any name.
    """
    shown, found = _shown(header), None
    services: list[Service] = settings.SERVICE_KEYS
    for service in services:
        for key, name in shown:
            is_key = hmac.compare_digest(_digest(key), _digest(service.key))
            if is_key and (name is None or service.name in ("", name)):
                found = service
    return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _shown(header: bytes) -> list[_Shown]:
    """Return the meanings of a header: HTTP Basic as it stands, and decoded (RFC 6749, 2.3.1)."""
    scheme, _space, rest = header.decode("latin-1").strip().partition(" ")
    if scheme.lower() == "bearer":
        return [_Shown(rest.strip())]
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(rest.strip(), validate=True).decode()
    except ValueError:
        return []
    name, _colon, key = pair.partition(":")
    return [_Shown(key, name), _Shown(unquote_plus(key), unquote_plus(name))]


class ServiceAuthentication(BaseAuthentication):
    """DRF authenticator for services. `request.auth` is the Service, the user is anonymous."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, Service]:
        """Return the service. Raises NotAuthenticated, or RateLimited after many wrong keys.

        A right key is never refused: it cannot be guessed, so failures of others at its address do
        not matter.
        """
        header = get_authorization_header(request)
        service = service_of(header)
        if service is None:
            if header:
                client = ip_addresses.client_of(request._request)
                allowances.spend([Take(budgets.INTROSPECT_REFUSED, client)])
            raise NotAuthenticated
        request._request.service = service  # type: ignore[attr-defined]
        return AnonymousUser(), service

    def authenticate_header(self, request: Request) -> str:
        """Return the schemes that a 401 names."""
        return CHALLENGE


class ServiceScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """OpenAPI description of service keys."""

    target_class = "accounts.request_auth.service_keys.ServiceAuthentication"
    name = ["serviceKey", "serviceBasic"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Return both schemes as alternatives."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """Return the definitions of both schemes."""
        return [
            {"type": "http", "scheme": "bearer", "description": "A key of SERVICE_KEYS."},
            {
                "type": "http",
                "scheme": "basic",
                "description": "A name and its key of SERVICE_KEYS.",
            },
        ]
