"""API of comments and replies."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny, IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import (
    CommentPageSerializer,
    CommentSerializer,
    EditCommentSerializer,
    NewCommentSerializer,
    body,
)
from interactions.queries import CommentCard, Sort
from socialsite.core.errors import InvalidInput
from socialsite.core.http import api
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY, LIST_PAGE
from socialsite.core.positions import Page
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer
SORTS: dict[str, Sort] = {"new": "new", "hot": "hot"}
SORT = OpenApiParameter("sort", str, enum=[*SORTS], description="default hot")


def _one(request: Request, comment_id: int) -> dict[str, Any]:
    """Return a comment that the reader may see."""
    return body(queries.comment(request.user, comment_id))


def _page(page: Page[CommentCard]) -> Response:
    return Response({"items": [body(card) for card in page.items], "next": page.next})


class PostComments(APIView):
    """The comments on a post."""

    permission_classes = [IsAuthenticatedOrReadOnly]
    takes = {"GET": READS}

    @extend_schema(
        parameters=[*LIST_PAGE, SORT],
        responses={200: CommentPageSerializer, 400: Errors, 404: Errors},
    )
    def get(self, request: Request, post_id: str) -> Response:
        """Return a page of the comments on the post itself; replies have their own address."""
        cursor, size = api.page_params(request)
        sort = SORTS.get(request.GET.get("sort") or "hot")
        if sort is None:
            raise InvalidInput(fields={"sort": [_("Must be new or hot.")]})
        ident = api.parse_id(post_id)
        return _page(queries.comments(request.user, ident, cursor, size, sort))

    @extend_schema(
        request=NewCommentSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={
            201: CommentSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
    )
    @idempotent(_one, budgets.COMMENT)
    def post(self, request: PersonRequest, post_id: str) -> Created:
        """Comment on the post, or reply to one of its comments."""
        ident = api.parse_id(post_id)
        values = api.read(NewCommentSerializer, request.data)
        parent = values.get("parent")
        parent_id = None if parent is None else api.parse_id(parent, "parent")
        made = actions.comment(request.user, ident, values["content"], parent_id)
        return Created(made.pk, Response(body(queries.written(request.user, made)), status=201))


class Replies(APIView):
    """The replies to a comment."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(
        parameters=LIST_PAGE,
        responses={200: CommentPageSerializer, 400: Errors, 404: Errors},
    )
    def get(self, request: Request, comment_id: str) -> Response:
        """Return a page, oldest first: the thread of a root, or the direct replies to a reply."""
        cursor, size = api.page_params(request)
        return _page(queries.replies(request.user, api.parse_id(comment_id), cursor, size))


class OneComment(APIView):
    """One comment."""

    takes = {"PATCH": (budgets.EDIT,), "DELETE": (budgets.DELETE,)}

    @extend_schema(
        request=EditCommentSerializer,
        responses={
            200: CommentSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
    )
    def patch(self, request: PersonRequest, comment_id: str) -> Response:
        """Edit one's own comment, while one sees the post and its comments are open."""
        ident = api.parse_id(comment_id)
        actions.edit_comment(request.user, ident, **api.read(EditCommentSerializer, request.data))
        return Response(_one(request, ident))

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 403: Errors, 404: Errors})
    def delete(self, request: PersonRequest, comment_id: str) -> Response:
        """Delete a comment: one's own, or any below one's own post."""
        actions.delete_comment(request.user, api.parse_id(comment_id), address_of(request._request))
        return Response(status=204)
