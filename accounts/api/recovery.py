"""API of setting a new password by e-mail."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import actions, devices, entry, serializers
from accounts.api.sign_in import OpenView
from socialsite.core import api, budgets
from socialsite.core.api import ErrorSerializer as Errors


class Recover(OpenView):
    """Asking for a link."""

    @extend_schema(
        request=serializers.RecoverSerializer,
        responses={204: None, 400: Errors, 429: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Have links sent for all accounts of an address; the answer does not say if there are."""
        data = api.read(serializers.RecoverSerializer, request.data)
        entry.ask_recovery(request._request, data["email"])
        return Response(status=204)


class RecoverConfirm(OpenView):
    """Using a link."""

    takes = {"POST": (budgets.LINK,)}

    @extend_schema(
        request=serializers.RecoverConfirmSerializer,
        responses={204: None, 400: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Set the password; all sign-ins end, and this does not sign in."""
        data = api.read(serializers.RecoverConfirmSerializer, request.data)
        address = devices.address_of(request._request)
        actions.recover(data["token"], data["new_password"], address=address)
        return Response(status=204)
