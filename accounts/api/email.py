"""API of the requesting person's e-mail address."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions
from accounts.api import serializers
from accounts.api.sign_in import OpenView
from accounts.models import User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import guarded
from socialsite.core.http import api, ip_addresses
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets


class Email(APIView):
    """The requesting person's address."""

    takes = {"GET": (budgets.READ,), "POST": (budgets.ACCOUNT,)}

    @extend_schema(responses={200: serializers.EmailStateSerializer, 401: Errors, 503: Errors})
    def get(self, request: Request) -> Response:
        """Return the requesting person's address, and the one that waits for its confirmation."""
        user, _principal = signed_in(request)
        return Response(_state(user))

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
            return Response(_state(user), status=202)
        return Response(_state(user))


class WaitingEmail(APIView):
    """The address that waits for its confirmation."""

    takes = {"POST": (budgets.ACCOUNT,), "DELETE": (budgets.ACCOUNT,)}

    @extend_schema(
        request=None,
        responses={
            202: serializers.EmailStateSerializer,
            401: Errors,
            404: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Send another link to the address that waits; the former links stay valid."""
        user, _principal = signed_in(request)
        guarded.send_confirmation_again(request._request, user)
        return Response(_state(user), status=202)

    @extend_schema(responses={204: None, 401: Errors, 503: Errors})
    def delete(self, request: Request) -> Response:
        """Drop the address that waits; its links become invalid."""
        user, _principal = signed_in(request)
        actions.drop_waiting_email(user)
        return Response(status=204)


def _state(user: User) -> dict[str, str]:
    user.refresh_from_db(fields=["email", "email_waiting"])
    return {"email": user.email, "waiting": user.email_waiting}


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
