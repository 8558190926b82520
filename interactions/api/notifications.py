"""API of notifications."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import (
    NotificationPageSerializer,
    PreferencesSerializer,
    ReadSerializer,
    UnreadSerializer,
    notification_body,
)
from interactions.kinds import NAMES
from socialsite.core.errors import InvalidInput
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets

Errors = api.ErrorSerializer


def _unread(request: PersonRequest) -> Response:
    count, more = queries.unread_count(request.user)
    return Response({"count": count, "more": more})


class Notifications(APIView):
    """My notifications."""

    takes = {"GET": (budgets.POLL, budgets.DEEP_READ)}

    @extend_schema(
        parameters=[
            *LIST_PAGE,
            OpenApiParameter(
                "kind", str, enum=NAMES, description="only notifications of this kind"
            ),
        ],
        responses={200: NotificationPageSerializer, 400: Errors, 401: Errors},
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page of notifications, or of those of one kind; the newest actor first."""
        cursor, size = api.page_params(request)
        kind = request.query_params.get("kind")
        if kind is not None and kind not in NAMES:
            raise InvalidInput(fields={"kind": [_("There is no such kind of notification.")]})
        page = queries.notifications(request.user, cursor, size, kind)
        items = [notification_body(item) for item in page.items]
        return Response({"items": items, "next": page.next})


class Read(APIView):
    """My read mark."""

    takes = {"POST": (budgets.NOTIFICATION,)}

    @extend_schema(
        request=ReadSerializer, responses={200: UnreadSerializer, 400: Errors, 401: Errors}
    )
    def post(self, request: PersonRequest) -> Response:
        """Mark notifications as read, and return how many are still unread.

        Without parameters all are marked. `until`, the `created_at` of the newest one shown, marks
        those that existed then; `ids` marks only these, `kind` only those of a kind. Newer ones
        stay unread, whatever time is given.
        """
        values = api.read(ReadSerializer, request.data)
        until, ids = values.get("until"), values.get("ids")
        actions.read_notifications(
            request.user,
            None if until is None else api.parse_time(until, "until"),
            None if ids is None else [api.parse_id(text, "ids") for text in ids],
            values.get("kind"),
        )
        return _unread(request)


class UnreadCount(APIView):
    """The number of unread notifications."""

    takes = {"GET": (budgets.POLL,)}

    @extend_schema(responses={200: UnreadSerializer, 401: Errors})
    def get(self, request: PersonRequest) -> Response:
        """Return the number of unread notifications, up to 99, and whether there are more."""
        return _unread(request)


class Preferences(APIView):
    """The people whose actions notify me."""

    takes = {"GET": (budgets.READ,), "PATCH": (budgets.NOTIFICATION,)}

    @extend_schema(responses={200: PreferencesSerializer, 401: Errors})
    def get(self, request: PersonRequest) -> Response:
        """Return the choice for each kind."""
        return Response(queries.preferences(request.user))

    @extend_schema(
        request=PreferencesSerializer(partial=True),
        responses={200: PreferencesSerializer, 400: Errors, 401: Errors},
    )
    def patch(self, request: PersonRequest) -> Response:
        """Change the choice of the given kinds; applies to later events."""
        given: dict[str, Any] = dict(request.data)
        actions.choose_notifications(request.user, given)
        return Response(queries.preferences(request.user))
