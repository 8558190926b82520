"""API of likes."""

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.tokens.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import LikeSerializer
from interactions.models import SubjectType
from relations.api.serializers import PersonPageSerializer
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.request_budgets import READS

Errors = api.ErrorSerializer
PEOPLE = {200: PersonPageSerializer, 400: Errors, 404: Errors}
LIKED = {200: LikeSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors}


class PostLike(APIView):
    """My like of a post."""

    takes = {"PUT": (budgets.MARK,), "DELETE": (budgets.MARK,)}

    @extend_schema(request=None, responses=LIKED)
    def put(self, request: PersonRequest, post_id: str) -> Response:
        """Like; a repeat changes nothing."""
        count = actions.like(request.user, SubjectType.POST, api.parse_id(post_id))
        return Response({"liked": True, "like_count": count})

    @extend_schema(responses=LIKED)
    def delete(self, request: PersonRequest, post_id: str) -> Response:
        """Remove the like; a repeat changes nothing. `like_count` is 0 if the post is hidden."""
        count = actions.unlike(request.user, SubjectType.POST, api.parse_id(post_id))
        return Response({"liked": False, "like_count": count})


class CommentLike(APIView):
    """My like of a comment."""

    takes = {"PUT": (budgets.MARK,), "DELETE": (budgets.MARK,)}

    @extend_schema(request=None, responses=LIKED)
    def put(self, request: PersonRequest, comment_id: str) -> Response:
        """Like; a repeat changes nothing."""
        count = actions.like(request.user, SubjectType.COMMENT, api.parse_id(comment_id))
        return Response({"liked": True, "like_count": count})

    @extend_schema(responses=LIKED)
    def delete(self, request: PersonRequest, comment_id: str) -> Response:
        """Remove the like; a repeat changes nothing. `like_count` is 0 if the comment is hidden."""
        count = actions.unlike(request.user, SubjectType.COMMENT, api.parse_id(comment_id))
        return Response({"liked": False, "like_count": count})


class PostLikes(APIView):
    """The people who like a post."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=LIST_PAGE, responses=PEOPLE)
    def get(self, request: Request, post_id: str) -> Response:
        """Return a page of visible people, the newest like first."""
        return _likers(request, SubjectType.POST, api.parse_id(post_id))


class CommentLikes(APIView):
    """The people who like a comment."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=LIST_PAGE, responses=PEOPLE)
    def get(self, request: Request, comment_id: str) -> Response:
        """Return a page of visible people, the newest like first."""
        return _likers(request, SubjectType.COMMENT, api.parse_id(comment_id))


def _likers(request: Request, subj_type: SubjectType, subj_id: int) -> Response:
    cursor, size = api.page_params(request)
    page = queries.likers(request.user, subj_type, subj_id, cursor, size)
    return Response({"items": page.items, "next": page.next})
