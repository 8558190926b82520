"""API of the password."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import serializers
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import guarded
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets


class Password(APIView):
    """The requesting person's password."""

    takes = {"POST": (budgets.ACCOUNT,)}

    @extend_schema(
        request=serializers.PasswordSerializer,
        responses={
            200: serializers.PairSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Replace the password: this device gets a new pair, all others are signed out."""
        data = api.read(serializers.PasswordSerializer, request.data)
        user, principal = signed_in(request)
        old, new = data["old_password"], data["new_password"]
        pair = guarded.change_password(request._request, user, principal, old, new)
        return Response(pair._asdict())
