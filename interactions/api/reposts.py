"""API of reposts."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from feeds import actions as feeds
from feeds import queries as posts
from feeds.serializers import PostSerializer
from feeds.serializers import body as post_body
from interactions import queries
from interactions.serializers import NewRepostSerializer
from socialsite.core import api, budgets
from socialsite.core.idempotency import Made, idempotent
from socialsite.core.parameters import IDEMPOTENCY_KEY

Errors = api.ErrorSerializer


def _one(request: Request, post_id: int) -> dict[str, Any]:
    """Return a repost that the reader may see, with what it shows if the reader may see that."""
    return post_body(queries.decorate(request.user, [posts.post(request.user, post_id)])[0])


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
    def post(self, request: Request, post_id: str) -> Made:
        """Repost, with words or without. Of a repost the post that it shows is reposted.

        There is one repost without words of a post: 201 when it is new, else 200 with that one.
        """
        values = api.read(NewRepostSerializer, request.data)
        made, is_new = feeds.repost(request.user, api.parse_id(post_id), values["content"])
        return Made(made.pk, Response(_one(request, made.pk), status=201 if is_new else 200))

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors})
    def delete(self, request: Request, post_id: str) -> Response:
        """Delete my repost without words; without one nothing changes.

        Reposts with words are deleted as posts.
        """
        feeds.undo_repost(request.user, api.parse_id(post_id))
        return Response(status=204)
