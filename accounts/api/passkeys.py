"""API of passkeys."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import passkey_serializers, serializers
from accounts.api.sign_in import OpenView, answer
from accounts.credentials import passkeys as credentials
from accounts.models import Passkey
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import passkeys
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.times import iso_of

REFUSED = {400: Errors, 401: Errors, 403: Errors, 429: Errors, 503: Errors}


class Passkeys(APIView):
    """The passkeys of the requesting person."""

    takes = {"GET": (budgets.READ,), "POST": (budgets.ACCOUNT,)}

    @extend_schema(
        responses={200: passkey_serializers.PasskeyListSerializer, 401: Errors, 503: Errors}
    )
    def get(self, request: Request) -> Response:
        """Return the passkeys, the oldest first."""
        user, _principal = signed_in(request)
        return Response(
            {"items": [_body(row) for row in credentials.of_person(user)], "next": None}
        )

    @extend_schema(
        request=passkey_serializers.NewPasskeySerializer,
        responses={201: passkey_serializers.PasskeySerializer, 409: Errors, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Add the passkey that a browser made with the options of auth/passkeys/options."""
        user, principal = signed_in(request)
        data = api.read(passkey_serializers.NewPasskeySerializer, request.data)
        row = passkeys.add(request._request, user, principal, data["credential"], data["name"])
        return Response(_body(row), status=201)


class NewOptions(APIView):
    """Options for a new passkey."""

    takes = {"POST": (budgets.ACCOUNT,)}

    @extend_schema(
        request=passkey_serializers.ProofSerializer,
        responses={200: passkey_serializers.OptionsSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Return options for `navigator.credentials.create`."""
        user, principal = signed_in(request)
        data = api.read(passkey_serializers.ProofSerializer, request.data)
        passkeys.check_fresh(request._request, user, principal, **data)
        return Response({"publicKey": passkeys.options_to_add(user, principal)})


class ProveOptions(APIView):
    """Options to prove by passkey who uses a device."""

    takes = {"POST": (budgets.ACCOUNT,)}

    @extend_schema(request=None, responses={200: passkey_serializers.OptionsSerializer, **REFUSED})
    def post(self, request: Request) -> Response:
        """Return options for `navigator.credentials.get`, with the person's own passkeys."""
        return Response({"publicKey": passkeys.options_to_prove(*signed_in(request))})


class OnePasskey(APIView):
    """A passkey of the requesting person."""

    takes = {"PATCH": (budgets.ACCOUNT,), "DELETE": (budgets.ACCOUNT,)}

    @extend_schema(
        request=passkey_serializers.PasskeyNameSerializer,
        responses={200: passkey_serializers.PasskeySerializer, 404: Errors, **REFUSED},
    )
    def patch(self, request: Request, passkey_id: str) -> Response:
        """Give it another name."""
        user, _principal = signed_in(request)
        data = api.read(passkey_serializers.PasskeyNameSerializer, request.data)
        found = api.parse_id(passkey_id)
        return Response(_body(passkeys.rename(request._request, user, found, data["name"])))

    @extend_schema(
        request=passkey_serializers.ProofSerializer, responses={204: None, 404: Errors, **REFUSED}
    )
    def delete(self, request: Request, passkey_id: str) -> Response:
        """Remove it. Devices that it signed in stay signed in."""
        user, principal = signed_in(request)
        data = api.read(passkey_serializers.ProofSerializer, request.data)
        found = api.parse_id(passkey_id)
        passkeys.check_fresh(request._request, user, principal, **data)
        passkeys.remove(request._request, user, found)
        return Response(status=204)


class LoginOptions(OpenView):
    """Options for a log-in by passkey."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=None,
        responses={
            200: passkey_serializers.OptionsSerializer,
            400: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Return options for `navigator.credentials.get`, and a cookie that the log-in needs."""
        options, browser = passkeys.options_to_log_in(request._request)
        response = Response({"publicKey": options})
        passkeys.put_cookie(response, browser)
        return response


class PasskeyLogin(OpenView):
    """Log-in by passkey."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=passkey_serializers.PasskeyLoginSerializer,
        responses={200: serializers.SignInSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Sign in by passkey alone, in place of password and code."""
        data = api.read(passkey_serializers.PasskeyLoginSerializer, request.data)
        return Response(answer(*passkeys.log_in(request._request, **data)))


def _body(row: Passkey) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "name": row.name,
        "backed_up": row.backed_up,
        "created_at": iso_of(row.created_at),
        "last_used": row.last_used and iso_of(row.last_used),
    }
