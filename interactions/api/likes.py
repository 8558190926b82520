"""API of likes."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from interactions import actions
from interactions.models import SubjectType
from interactions.serializers import LikeSerializer
from socialsite.core import api

Errors = api.ErrorSerializer
LIKED = {200: LikeSerializer, 400: Errors, 401: Errors, 404: Errors}


class PostLike(APIView):
    """My like of a post."""

    @extend_schema(request=None, responses=LIKED)
    def put(self, request: Request, post_id: str) -> Response:
        """Like; again changes nothing."""
        count = actions.like(request.user, SubjectType.POST, api.parse_id(post_id))
        return Response({"liked": True, "like_count": count})

    @extend_schema(responses=LIKED)
    def delete(self, request: Request, post_id: str) -> Response:
        """Take the like back; again changes nothing."""
        count = actions.unlike(request.user, SubjectType.POST, api.parse_id(post_id))
        return Response({"liked": False, "like_count": count})


class CommentLike(APIView):
    """My like of a comment."""

    @extend_schema(request=None, responses=LIKED)
    def put(self, request: Request, comment_id: str) -> Response:
        """Like; again changes nothing."""
        count = actions.like(request.user, SubjectType.COMMENT, api.parse_id(comment_id))
        return Response({"liked": True, "like_count": count})

    @extend_schema(responses=LIKED)
    def delete(self, request: Request, comment_id: str) -> Response:
        """Take the like back; again changes nothing."""
        count = actions.unlike(request.user, SubjectType.COMMENT, api.parse_id(comment_id))
        return Response({"liked": False, "like_count": count})
