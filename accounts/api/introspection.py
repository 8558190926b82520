"""API for other services: is this token live?"""

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import introspection, serializers
from accounts.api.sign_in import OpenView
from socialsite.core import api
from socialsite.core.api import ErrorSerializer as Errors
from socialsite.core.json import OrjsonParser


class Introspect(OpenView):
    """What a token is worth now (RFC 7662)."""

    parser_classes = (OrjsonParser, FormParser)  # clients of the RFC send a form

    @extend_schema(
        request=serializers.IntrospectSerializer,
        responses={200: serializers.ClaimsSerializer, 400: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Say what a live access or refresh token stands for, else only that it is not active.

        Who holds a token may ask about it; nothing else is needed, and nothing changes. Why a token
        is not active is not told.
        """
        data = api.read(serializers.IntrospectSerializer, request.data)
        claims = introspection.active_claims(data["token"])
        return Response({"active": False} if claims is None else {"active": True, **claims})
