"""API of accounts: signing in and out, people."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions, devices, queries, schema, serializers  # noqa: F401  (schema: its effect)
from accounts.authentication import signed_in
from accounts.models import User
from accounts.tokens import TokenPair
from feeds import queries as feeds
from relations import queries as relations
from relations.serializers import PersonPageSerializer
from socialsite.core import api, errors
from socialsite.core.api import ErrorSerializer as Errors

BLOCKING = ("BLACKLISTING", "BI_BLACKLISTING")
Body = dict[str, Any]


def _user_body(viewer: Any, person: User) -> Body:
    """Return a person as the viewer may see them; UserNotFound when they block the viewer."""
    body: Body = relations.profile(viewer, person)
    if body["relation"] in BLOCKING:
        return body | {"bio": "", "counts": None}
    posts = feeds.post_counts([person.pk]).get(person.pk, 0)
    return body | {"counts": body["counts"] | {"posts": posts}}


class _OpenView(APIView):
    """A view that looks at no credential: a dead one must not keep anyone from signing in."""

    authentication_classes = ()
    permission_classes = (AllowAny,)


class Register(_OpenView):
    """Making an account."""

    @extend_schema(
        request=serializers.RegisterSerializer,
        responses={201: serializers.SignInSerializer, 400: Errors, 409: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Make an account and sign in."""
        data = api.read(serializers.RegisterSerializer, request.data)
        client = data.pop("client")
        user = actions.register(**data)
        return Response(_answer(user, _sign_in(request, user, client)), status=201)


class Login(_OpenView):
    """Signing in."""

    @extend_schema(
        request=serializers.LoginSerializer,
        responses={
            200: serializers.SignInSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Sign in; an older sign-in of the same kind of device ends."""
        data = api.read(serializers.LoginSerializer, request.data)
        user, pair = actions.login(
            data["username"],
            data["password"],
            data["client"],
            devices.user_agent_of(request._request),
            devices.address_of(request._request),
        )
        return Response(_answer(user, pair))


class Refresh(_OpenView):
    """Exchanging a refresh token."""

    @extend_schema(
        request=serializers.RefreshSerializer,
        responses={200: serializers.PairSerializer, 400: Errors, 401: Errors},
    )
    def post(self, request: Request) -> Response:
        """Get a new pair; the old refresh token may be repeated until the new one is used."""
        data = api.read(serializers.RefreshSerializer, request.data)
        _user, pair = actions.refresh(data["refresh"])
        return Response(pair._asdict())


class Logout(APIView):
    """Signing out."""

    @extend_schema(request=None, responses={204: None, 401: Errors, 403: Errors})
    def post(self, request: Request) -> Response:
        """End the sign-in of this device: its access and refresh tokens are dead."""
        user, principal = signed_in(request)
        actions.log_out(user, principal.client, principal.version)
        return Response(status=204)


def _sign_in(request: Request, user: User, client: str) -> TokenPair:
    raw = request._request
    return actions.sign_in(user, client, devices.user_agent_of(raw), devices.address_of(raw))


def _answer(user: User, pair: TokenPair) -> Body:
    return {"user": _user_body(user, user), **pair._asdict()}


class Me(APIView):
    """The person who asks."""

    @extend_schema(responses={200: serializers.UserSerializer, 401: Errors})
    def get(self, request: Request) -> Response:
        """Return the person who asks."""
        user, _principal = signed_in(request)
        return Response(_user_body(user, user))

    @extend_schema(
        request=serializers.ProfileSerializer,
        responses={200: serializers.UserSerializer, 400: Errors, 401: Errors, 403: Errors},
    )
    def patch(self, request: Request) -> Response:
        """Change nickname, bio or picture."""
        data = api.read(serializers.ProfileSerializer, request.data)
        if "avatar" in data:
            data["avatar"] = data["avatar"] or 0
        user, _principal = signed_in(request)
        user = actions.edit_profile(user, **data)
        return Response(_user_body(user, user))


SHOWN = {200: serializers.UserSerializer, 400: Errors, 401: Errors, 404: Errors}


class UserById(APIView):
    """One person by id."""

    permission_classes = (AllowAny,)

    @extend_schema(responses=SHOWN)
    def get(self, request: Request, user_id: str) -> Response:
        """Return a person."""
        return Response(_user_body(request.user, queries.by_id(api.parse_id(user_id))))


class UserByName(APIView):
    """One person by name."""

    permission_classes = (AllowAny,)

    @extend_schema(responses=SHOWN)
    def get(self, request: Request, username: str) -> Response:
        """Return a person."""
        return Response(_user_body(request.user, queries.by_name(username)))


class Users(APIView):
    """Search of people."""

    permission_classes = (AllowAny,)

    @extend_schema(
        operation_id="users_list",
        parameters=[
            OpenApiParameter("q", str, required=True, description="beginning of a name"),
            OpenApiParameter("cursor", str, description="`next` of the page before"),
            OpenApiParameter("size", int, description="1 to 100, default 20"),
        ],
        responses={200: PersonPageSerializer, 400: Errors, 401: Errors},
    )
    def get(self, request: Request) -> Response:
        """Find people whose username or nickname begins with `q`, the newest account first."""
        text = request.GET.get("q", "").strip()
        if not text:
            raise errors.InvalidInput(fields={"q": [_("Say what to look for.")]})
        cursor, size = api.page_params(request)
        page = relations.search_people(request.user, text, cursor, size)
        return Response({"items": page.items, "next": page.next})
