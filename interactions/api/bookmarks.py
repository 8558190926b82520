"""API of bookmarks."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds.api.serializers import PostPageSerializer
from feeds.api.serializers import bodies as post_bodies
from interactions import actions, queries
from interactions.api.serializers import BookmarkSerializer
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import FEED_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer
BOOKMARKED = {200: BookmarkSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors}


class PostBookmark(APIView):
    """My bookmark of a post."""

    takes = {"PUT": (budgets.MARK,), "DELETE": (budgets.MARK,)}

    @extend_schema(request=None, responses=BOOKMARKED)
    def put(self, request: PersonRequest, post_id: str) -> Response:
        """Bookmark the post; a repeat changes nothing."""
        count = actions.bookmark(request.user, api.parse_id(post_id))
        return Response({"bookmarked": True, "bookmark_count": count})

    @extend_schema(responses=BOOKMARKED)
    def delete(self, request: PersonRequest, post_id: str) -> Response:
        """Remove the bookmark; a repeat changes nothing.

        `bookmark_count` is 0 if the post is hidden.
        """
        count = actions.unbookmark(request.user, api.parse_id(post_id))
        return Response({"bookmarked": False, "bookmark_count": count})


class Bookmarks(APIView):
    """My bookmarks."""

    takes = {"GET": READS}

    @extend_schema(
        parameters=FEED_PAGE, responses={200: PostPageSerializer, 400: Errors, 401: Errors}
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page of the posts I bookmarked, the latest bookmark first."""
        cursor, size = api.feed_params(request)
        page = queries.bookmarks(request.user, cursor, size)
        return Response({"items": post_bodies(page.items), "next": page.next})
