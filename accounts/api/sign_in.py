"""API of sign-up, log-in, refresh and log-out."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions
from accounts.api import passkey_serializers, serializers, sign_up_serializers
from accounts.api.people import own_body
from accounts.models import SignUpRequest, User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import challenge, flow, passkeys
from accounts.tokens import TokenPair
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS

Body = dict[str, Any]


class OpenView(APIView):
    """A view that ignores credentials, so that a dead token never blocks a sign-in."""

    authentication_classes: tuple[type[BaseAuthentication], ...] = ()
    permission_classes = (AllowAny,)


class Register(OpenView):
    """Sign-up."""

    @extend_schema(
        request=sign_up_serializers.RegisterSerializer,
        responses={
            201: serializers.SignInSerializer,
            202: sign_up_serializers.SignUpRequestSerializer,
            400: Errors,
            403: Errors,
            409: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Create an account and sign in; 202 while the account is not open yet."""
        data = api.read(sign_up_serializers.RegisterSerializer, request.data)
        found = flow.sign_up(request._request, solution=data.pop("challenge"), **data)
        if isinstance(found, SignUpRequest):
            return Response({"state": found.state}, status=202)
        return Response(answer(*found), status=201)


class Challenge(OpenView):
    """The task at sign-up."""

    takes = {"GET": READS}

    @extend_schema(
        responses={200: sign_up_serializers.ChallengeStateSerializer, 429: Errors, 503: Errors},
    )
    def get(self, request: Request) -> Response:
        """Return a new task if a sign-up from this network needs a solution."""
        task = challenge.new_if_needed(request._request)
        return Response({"needed": task is not None, "challenge": task})


LOGIN_ANSWERS: dict[int, Any] = {
    200: serializers.SignInSerializer,
    **dict.fromkeys((400, 401, 403, 429, 503), Errors),
    404: Errors,  # with LOGIN_ERRORS=separate
}


class Login(OpenView):
    """Log-in."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=serializers.LoginSerializer,
        responses=LOGIN_ANSWERS,
    )
    def post(self, request: Request) -> Response:
        """Sign in; an older sign-in of the same kind of device ends."""
        data = api.read(serializers.LoginSerializer, request.data)
        user, pair = flow.log_in(request._request, code=data.pop("otp"), **data)
        return Response(answer(user, pair))


class Reopen(OpenView):
    """Log-in that opens a closed account again."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=PolymorphicProxySerializer(
            component_name="Reopen",
            serializers=[serializers.LoginSerializer, passkey_serializers.PasskeyLoginSerializer],
            resource_type_field_name=None,
        ),
        responses=LOGIN_ANSWERS,
    )
    def post(self, request: Request) -> Response:
        """Take a closed account back, by password or passkey, and sign in; an open account too."""
        if "credential" in request.data:
            data = api.read(passkey_serializers.PasskeyLoginSerializer, request.data)
            user, pair = passkeys.log_in(request._request, reopens=True, **data)
        else:
            data = api.read(serializers.LoginSerializer, request.data)
            user, pair = flow.log_in(request._request, code=data.pop("otp"), reopens=True, **data)
        user.refresh_from_db()
        return Response(answer(user, pair))


class Refresh(OpenView):
    """Exchange of a refresh token."""

    @extend_schema(
        request=serializers.RefreshSerializer,
        responses={
            200: serializers.PairSerializer,
            400: Errors,
            401: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Return a new pair. The old refresh token may be sent again until the new one is used."""
        data = api.read(serializers.RefreshSerializer, request.data)
        return Response(flow.exchange(data["refresh"])[1]._asdict())


class Logout(APIView):
    """Log-out."""

    takes = {"POST": (budgets.DEVICES,)}

    @extend_schema(request=None, responses={204: None, 401: Errors, 403: Errors, 503: Errors})
    def post(self, request: Request) -> Response:
        """End the sign-in of this device: revoke its access and refresh tokens."""
        user, principal = signed_in(request)
        actions.log_out(user, principal.client, principal.version)
        return Response(status=204)


def answer(user: User, pair: TokenPair) -> Body:
    """Return the person and their tokens."""
    return {"user": own_body(user), **pair._asdict()}
