"""API of the devices that a person is signed in on, and of the log of sign-ins."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import queries, sign_in_log
from accounts.api import serializers
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS


class Devices(APIView):
    """The devices of the requesting person."""

    takes = {"GET": (budgets.DEVICES,), "DELETE": (budgets.DEVICES,)}

    @extend_schema(responses={200: serializers.DevicePageSerializer, 401: Errors, 503: Errors})
    def get(self, request: Request) -> Response:
        """Return the signed-in devices, most recently seen first."""
        user, principal = signed_in(request)
        found = queries.devices(user.pk, principal.client)
        return Response({"items": found, "next": None})

    @extend_schema(
        operation_id="auth_devices_destroy_others",
        responses={204: None, 401: Errors, 403: Errors, 503: Errors},
    )
    def delete(self, request: Request) -> Response:
        """Sign out all devices except the requesting one."""
        user, principal = signed_in(request)
        flow.sign_out_others(request._request, user, principal)
        return Response(status=204)


class SignIns(APIView):
    """The log of the sign-ins of the requesting person."""

    takes = {"GET": READS}

    @extend_schema(
        responses={
            200: serializers.SignInLogSerializer,
            400: Errors,
            401: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def get(self, request: Request) -> Response:
        """Return my sign-ins, also those that have ended."""
        user, principal = signed_in(request)
        params = api.page_params(request)
        page = sign_in_log.of_person(user.pk, principal.client, *params)
        return Response({"items": page.items, "next": page.next})


class Device(APIView):
    """One device of the requesting person."""

    takes = {"DELETE": (budgets.DEVICES,)}

    @extend_schema(responses={204: None, 401: Errors, 403: Errors, 404: Errors, 503: Errors})
    def delete(self, request: Request, client: str) -> Response:
        """Sign out a device; for the requesting device this is a log-out."""
        user, principal = signed_in(request)
        flow.sign_out(request._request, user, principal, client)
        return Response(status=204)
