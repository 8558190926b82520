"""API of reposts."""

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
from socialsite.core.idempotency import idempotent
from socialsite.core.parameters import IDEMPOTENCY_KEY

Errors = api.ErrorSerializer


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
    @idempotent(budgets.PUBLISH)
    def post(self, request: Request, post_id: str) -> Response:
        """Repost, with words or without. Of a repost the post that it shows is reposted.

        There is one repost without words of a post: 201 when it is new, else 200 with that one.
        """
        values = api.read(NewRepostSerializer, request.data)
        made, is_new = feeds.repost(request.user, api.parse_id(post_id), values["content"])
        card = queries.decorate(request.user, [posts.post(request.user, made.pk)])[0]
        return Response(post_body(card), status=201 if is_new else 200)

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors})
    def delete(self, request: Request, post_id: str) -> Response:
        """Delete my repost without words; without one nothing changes.

        Reposts with words are deleted as posts.
        """
        feeds.undo_repost(request.user, api.parse_id(post_id))
        return Response(status=204)
