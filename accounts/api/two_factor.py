"""API of two-factor authentication."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import serializers
from accounts.credentials import two_factor
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import guarded
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets

REFUSED = {400: Errors, 401: Errors, 403: Errors, 429: Errors, 503: Errors}


class TwoFactor(APIView):
    """The requesting person's second factor."""

    takes = {
        "GET": (budgets.READ,),
        "POST": (budgets.ACCOUNT,),
        "DELETE": (budgets.ACCOUNT,),
    }

    @extend_schema(responses={200: serializers.TwoFactorStateSerializer, 401: Errors, 503: Errors})
    def get(self, request: Request) -> Response:
        """Return whether the second factor is on, and how many recovery codes are left."""
        user, _principal = signed_in(request)
        left = two_factor.codes_left(user)
        return Response({"on": two_factor.is_on(user), "recovery_codes_left": left})

    @extend_schema(
        request=serializers.TwoFactorBeginSerializer,
        responses={200: serializers.TwoFactorSecretSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Create a new secret for an authenticator app; it takes effect once it is confirmed."""
        user, _principal = signed_in(request)
        data = api.read(serializers.TwoFactorBeginSerializer, request.data)
        return Response(guarded.begin_two_factor(user, data["password"])._asdict())

    @extend_schema(request=serializers.TwoFactorEndSerializer, responses={204: None, **REFUSED})
    def delete(self, request: Request) -> Response:
        """Turn the second factor off, with the password and a code or recovery code."""
        user, _principal = signed_in(request)
        data = api.read(serializers.TwoFactorEndSerializer, request.data)
        guarded.end_two_factor(request._request, user, data["password"], data["otp"])
        return Response(status=204)


class TwoFactorConfirm(APIView):
    """Confirmation of a new secret by a first code."""

    takes = {"POST": (budgets.ACCOUNT,)}

    @extend_schema(
        request=serializers.TwoFactorCodeSerializer,
        responses={200: serializers.RecoveryCodesSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Turn the second factor on; all other devices are signed out."""
        user, principal = signed_in(request)
        data = api.read(serializers.TwoFactorCodeSerializer, request.data)
        codes = guarded.confirm_two_factor(request._request, user, principal, data["otp"])
        return Response({"recovery_codes": codes})


class TwoFactorRecoveryCodes(APIView):
    """The recovery codes."""

    takes = {"POST": (budgets.ACCOUNT,)}

    @extend_schema(
        request=serializers.TwoFactorCodeSerializer,
        responses={200: serializers.RecoveryCodesSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Replace all recovery codes by new ones."""
        user, _principal = signed_in(request)
        data = api.read(serializers.TwoFactorCodeSerializer, request.data)
        codes = guarded.renew_recovery_codes(request._request, user, data["otp"])
        return Response({"recovery_codes": codes})
