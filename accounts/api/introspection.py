"""API for other services: is this token live?"""

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import introspection, serializers
from accounts.api.sign_in import OpenView
from accounts.service_keys import CHALLENGE, ServiceAuthentication
from socialsite.core import api, budgets
from socialsite.core.api import ErrorSerializer as Errors
from socialsite.core.json import OrjsonParser


class Introspect(OpenView):
    """What a token is worth now (RFC 7662)."""

    authentication_classes = (ServiceAuthentication,)
    takes = {"POST": (budgets.INTROSPECT,)}
    parser_classes = (OrjsonParser, FormParser)  # clients of the RFC send a form

    @extend_schema(
        request=serializers.IntrospectSerializer,
        responses={200: serializers.ClaimsSerializer, 400: Errors, 401: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Say what a live access or refresh token stands for, else only that it is not active.

        Services may ask, by their keys, about any token; nothing changes by asking. Why a token is
        not active is not told.
        """
        data = api.read(serializers.IntrospectSerializer, request.data)
        claims = introspection.active_claims(data["token"])
        return Response({"active": False} if claims is None else {"active": True, **claims})

    def handle_exception(self, exc: Exception) -> Response:
        """Answer as everywhere; a 401 names both ways to show a key."""
        response = super().handle_exception(exc)
        if response.status_code == 401:
            response.headers["WWW-Authenticate"] = CHALLENGE
        return response
