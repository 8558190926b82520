"""API of comment settings and pins, for the author of the post."""

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import CommentSettingsSerializer, PinSerializer
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer
PINNED = {200: PinSerializer, 400: Errors, 401: Errors, 403: Errors, 404: Errors, 429: Errors}


class Pin(APIView):
    """Whether a comment below my post is pinned."""

    takes = {"PUT": (budgets.MARK,), "DELETE": (budgets.MARK,)}

    @extend_schema(request=None, responses=PINNED)
    def put(self, request: PersonRequest, comment_id: str) -> Response:
        """Pin it: it comes first, and is shown if comments are featured.

        A repeat changes nothing.
        """
        actions.pin(request.user, api.parse_id(comment_id))
        return Response({"pinned": True})

    @extend_schema(responses=PINNED)
    def delete(self, request: PersonRequest, comment_id: str) -> Response:
        """Unpin it; a repeat changes nothing."""
        actions.unpin(request.user, api.parse_id(comment_id))
        return Response({"pinned": False})


class CommentSettings(APIView):
    """The people who may comment on a post, and the comments that are shown."""

    permission_classes = [IsAuthenticatedOrReadOnly]
    takes = {"GET": READS, "PATCH": (budgets.MARK,)}

    @extend_schema(responses={200: CommentSettingsSerializer, 400: Errors, 404: Errors})
    def get(self, request: Request, post_id: str) -> Response:
        """Return the comment settings of a post."""
        status = queries.comment_status(request.user, api.parse_id(post_id))
        return Response({"status": status})

    @extend_schema(
        request=CommentSettingsSerializer,
        responses={
            200: CommentSettingsSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            429: Errors,
        },
    )
    def patch(self, request: PersonRequest, post_id: str) -> Response:
        """Open, close or feature the comments on one's post."""
        ident = api.parse_id(post_id)
        values = api.read(CommentSettingsSerializer, request.data)
        status = actions.set_comment_status(request.user, ident, values["status"])
        return Response({"status": status})
