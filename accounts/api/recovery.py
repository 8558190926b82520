"""API of password recovery by e-mail."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import actions
from accounts.api import serializers
from accounts.api.sign_in import OpenView
from accounts.sign_in import guarded
from socialsite.core.http import api, ip_addresses
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets


class Recover(OpenView):
    """Request for a recovery link."""

    @extend_schema(
        request=serializers.RecoverSerializer,
        responses={204: None, 400: Errors, 429: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Send links for all accounts of an address. The answer does not say if there are any."""
        data = api.read(serializers.RecoverSerializer, request.data)
        guarded.request_recovery(request._request, data["email"])
        return Response(status=204)


class RecoverConfirm(OpenView):
    """Use of a recovery link."""

    takes = {"POST": (budgets.LINK,)}

    @extend_schema(
        request=serializers.RecoverConfirmSerializer,
        responses={204: None, 400: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Set the password. All sign-ins end, and this request does not sign in."""
        data = api.read(serializers.RecoverConfirmSerializer, request.data)
        address = ip_addresses.address_of(request._request)
        actions.recover(data["token"], data["new_password"], address=address)
        return Response(status=204)
