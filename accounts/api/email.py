"""API of the requesting person's e-mail address."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions
from accounts.api import serializers
from accounts.api.sign_in import OpenView
from accounts.sign_in import guarded
from accounts.tokens.authentication import signed_in
from socialsite.core.http import api, ip_addresses
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets


class Email(APIView):
    """The requesting person's address."""

    takes = {"GET": (budgets.READ,), "POST": (budgets.ACCOUNT,)}

    @extend_schema(responses={200: serializers.EmailStateSerializer, 401: Errors, 503: Errors})
    def get(self, request: Request) -> Response:
        """Return the requesting person's address."""
        user, _principal = signed_in(request)
        return Response({"email": user.email})

    @extend_schema(
        request=serializers.EmailSerializer,
        responses={
            200: serializers.EmailStateSerializer,
            202: serializers.EmailStateSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Send a link to a new address (202), or remove the current one (200)."""
        data = api.read(serializers.EmailSerializer, request.data)
        user, _principal = signed_in(request)
        guarded.change_email(request._request, user, **data)
        if data["email"].strip():
            return Response({"email": user.email}, status=202)
        return Response({"email": ""})


class EmailConfirm(OpenView):
    """Confirmation of an address by a mailed link."""

    takes = {"POST": (budgets.LINK,)}

    @extend_schema(
        request=serializers.LinkSerializer, responses={204: None, 400: Errors, 503: Errors}
    )
    def post(self, request: Request) -> Response:
        """Store the address that the link was sent to."""
        data = api.read(serializers.LinkSerializer, request.data)
        actions.confirm_email(data["token"], address=ip_addresses.address_of(request._request))
        return Response(status=204)
