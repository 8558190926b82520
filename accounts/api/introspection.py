"""API for other services: token introspection."""

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api import serializers
from accounts.api.sign_in import OpenView
from accounts.request_auth import token_introspection
from accounts.request_auth.service_keys import CHALLENGE, ServiceAuthentication
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.http.json import OrjsonParser
from socialsite.core.rate_limits import budgets


class Introspect(OpenView):
    """Token introspection (RFC 7662)."""

    authentication_classes = (ServiceAuthentication,)
    takes = {"POST": (budgets.INTROSPECT,)}
    parser_classes = (OrjsonParser, FormParser)  # clients of the RFC send a form

    @extend_schema(
        request=serializers.IntrospectSerializer,
        responses={200: serializers.ClaimsSerializer, 400: Errors, 401: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Return the claims of a live access or refresh token, otherwise only `active: false`.

        A service may ask about any token with its key; the request changes nothing. The answer does
        not say why a token is not active.
        """
        data = api.read(serializers.IntrospectSerializer, request.data)
        claims = token_introspection.active_claims(data["token"])
        return Response({"active": False} if claims is None else {"active": True, **claims})

    def handle_exception(self, exc: Exception) -> Response:
        """Return the usual error envelope; a 401 names both schemes for a service key."""
        response = super().handle_exception(exc)
        if response.status_code == 401:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response
