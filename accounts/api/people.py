"""API of people."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions, queries
from accounts.api import serializers
from accounts.mail import choices
from accounts.models import User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import guarded
from feeds import queries as feeds_queries
from relations import queries as relations_queries
from relations.api.serializers import PersonPageSerializer
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS
from socialsite.core.times import iso_of

BLOCKING = ("BLACKLISTING", "BI_BLACKLISTING")
Body = dict[str, Any]


def user_body(viewer: Any, person: User) -> Body:
    """Return a person as the viewer may see them. Raises UserNotFound if they block the viewer."""
    body: Body = relations_queries.profile(viewer, person)
    if body["relation"] in BLOCKING:
        return body | queries.bare_profile() | {"bio": "", "counts": None}
    posts = feeds_queries.post_counts([person.pk]).get(person.pk, 0)
    return body | queries.profile_of(person) | {"counts": body["counts"] | {"posts": posts}}


def own_body(user: User) -> Body:
    """Return a person as they see themselves."""
    mails = choices.names_of(user.mails)
    return user_body(user, user) | {"language": user.language, "mails": mails}


class Me(APIView):
    """The requesting person."""

    takes = {"GET": READS, "PATCH": (budgets.PROFILE,), "DELETE": (budgets.ACCOUNT,)}

    @extend_schema(responses={200: serializers.MeSerializer, 401: Errors})
    def get(self, request: Request) -> Response:
        """Return the requesting person."""
        user, _principal = signed_in(request)
        return Response(own_body(user))

    @extend_schema(
        request=serializers.ProfileSerializer,
        responses={200: serializers.MeSerializer, 400: Errors, 401: Errors, 403: Errors},
    )
    def patch(self, request: Request) -> Response:
        """Change the given fields of one's profile."""
        data = api.read(serializers.ProfileSerializer, request.data)
        data |= {name: data[name] or 0 for name in ("avatar", "banner") if name in data}
        user, _principal = signed_in(request)
        mails = data.pop("mails", None)
        user = actions.edit_profile(user, **data)
        if mails is not None:
            user.mails = choices.bits_of(mails)
            actions.choose_mails(user, user.mails)
        return Response(own_body(user))

    @extend_schema(
        request=serializers.CloseSerializer,
        responses={
            202: serializers.ClosedSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def delete(self, request: Request) -> Response:
        """Close one's account: hidden at once, erased later. Signs out everywhere."""
        user, _principal = signed_in(request)
        data = api.read(serializers.CloseSerializer, request.data)
        moment = guarded.close(request._request, user, data["password"], data["otp"])
        return Response({"closes_at": iso_of(moment)}, status=202)


class ReadingPreferences(APIView):
    """What the requesting person sees without asking."""

    takes = {"GET": READS, "PATCH": (budgets.PROFILE,)}

    @extend_schema(responses={200: serializers.ReadingPreferencesSerializer, 401: Errors})
    def get(self, request: Request) -> Response:
        """Return the choices of the account."""
        user, _principal = signed_in(request)
        return Response(queries.preferences(user.pk))

    @extend_schema(
        request=serializers.ReadingPreferencesSerializer,
        responses={
            200: serializers.ReadingPreferencesSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
        },
    )
    def patch(self, request: Request) -> Response:
        """Change the given choices; browsers follow at their next log-in or exchange of tokens."""
        data = api.read(serializers.ReadingPreferencesSerializer, request.data)
        user, _principal = signed_in(request)
        actions.set_preferences(user, **data)
        return Response(queries.preferences(user.pk))


SHOWN = {200: serializers.UserSerializer, 400: Errors, 401: Errors, 404: Errors}


class UserById(APIView):
    """One person by id."""

    permission_classes = (AllowAny,)
    takes = {"GET": READS}

    @extend_schema(responses=SHOWN)
    def get(self, request: Request, user_id: str) -> Response:
        """Return a person."""
        return Response(user_body(request.user, queries.by_id(api.parse_id(user_id))))


class UserByName(APIView):
    """One person by name."""

    permission_classes = (AllowAny,)
    takes = {"GET": READS}

    @extend_schema(responses=SHOWN)
    def get(self, request: Request, username: str) -> Response:
        """Return a person."""
        return Response(user_body(request.user, queries.by_name(username)))


class Users(APIView):
    """Search for people."""

    permission_classes = (AllowAny,)
    takes = {"GET": (budgets.SEARCH,)}

    @extend_schema(
        operation_id="users_list",
        parameters=[
            OpenApiParameter("q", str, required=True, description="any part of a name"),
            *LIST_PAGE,
        ],
        responses={200: PersonPageSerializer, 400: Errors, 401: Errors},
    )
    def get(self, request: Request) -> Response:
        """Find people whose username or nickname has `q` in it.

        The person whose username it is comes first, then the newest accounts.
        """
        text = request.GET.get("q", "").strip()
        if not text:
            raise errors.InvalidInput(fields={"q": [_("Enter a search term.")]})
        cursor, size = api.page_params(request)
        page = relations_queries.search_people(request.user, text, cursor, size)
        return Response({"items": page.items, "next": page.next})
