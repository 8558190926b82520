"""API of reposts."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.api.serializers import PostSerializer
from feeds.api.serializers import body as post_body
from interactions import queries
from interactions.api.serializers import NewRepostSerializer
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent

Errors = api.ErrorSerializer


def _one(request: Request, post_id: int) -> dict[str, Any]:
    """Return a repost that the reader may see, with its original post if visible to the reader."""
    return post_body(queries.decorate(request.user, [feeds_queries.post(request.user, post_id)])[0])


class PostRepost(APIView):
    """My reposts of a post."""

    takes = {"DELETE": (budgets.MARK,)}

    @extend_schema(
        request=NewRepostSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={
            200: PostSerializer,
            201: PostSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
    )
    @idempotent(_one, budgets.PUBLISH)
    def post(self, request: PersonRequest, post_id: str) -> Created:
        """Repost, with or without text. Reposting a repost reposts its original post.

        Only one repost without text can exist for a post: 201 if it is new, otherwise 200 with the
        existing one.
        """
        values = api.read(NewRepostSerializer, request.data)
        made, is_new = feeds_actions.repost(request.user, api.parse_id(post_id), values["content"])
        return Created(made.pk, Response(_one(request, made.pk), status=201 if is_new else 200))

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors})
    def delete(self, request: PersonRequest, post_id: str) -> Response:
        """Delete my repost without text; if there is none nothing changes.

        Reposts with text are deleted as posts.
        """
        feeds_actions.undo_repost(request.user, api.parse_id(post_id))
        return Response(status=204)
