"""API of the search for posts."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from feeds.api.serializers import PostPageSerializer
from feeds.api.views import page_bodies
from feeds.discovery.search import language, paging
from socialsite.core.http import api, page_sizes
from socialsite.core.http.openapi_parameters import FEED_PAGE
from socialsite.core.rate_limits import budgets

Errors = api.ErrorSerializer
QUESTION = OpenApiParameter(
    "q",
    str,
    required=True,
    description='words, "phrases", -without, #tag, from:name, has:image, before: and after: a day',
)
SORT = OpenApiParameter("sort", str, enum=["top", "new"], description="by relevance, or newest")


class SearchPosts(APIView):
    """Posts by their words."""

    permission_classes = [AllowAny]
    takes = {"GET": (budgets.SEARCH,)}

    @extend_schema(
        operation_id="search_posts",
        parameters=[QUESTION, SORT, *FEED_PAGE],
        responses={200: PostPageSerializer, 400: Errors, 429: Errors},
    )
    def get(self, request: Request) -> Response:
        """Return a page of the posts that a question finds, of those that I may see."""
        size = api.size_of(request, default=page_sizes.FEED_SIZE, maximum=page_sizes.FEED_MAX)
        question = language.parse(request.GET.get("q", ""))
        sort = paging.sort_of(request.GET.get("sort"))
        cursor = request.GET.get("cursor", "")
        return Response(
            page_bodies(request.user, paging.page(request.user, question, sort, cursor, size))
        )
