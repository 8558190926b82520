"""OpenAPI description of the Bearer and cookie credentials."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from accounts.request_auth import cookies


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes Bearer tokens for API clients, and the site's cookie with CSRF token for pages."""

    target_class = "accounts.request_auth.authentication.TokenAuthentication"
    name = ["bearer", "cookie"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Return both schemes as alternatives."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """Return the definitions of both schemes."""
        return [
            {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "`access` of auth/register, auth/login or auth/refresh.",
            },
            {
                "type": "apiKey",
                "in": "cookie",
                "name": cookies.ACCESS,
                "description": "Set by the site's login page; writes need the header X-CSRFToken.",
            },
        ]
