"""API of tags: find and follow them, and read the posts that have them."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds.api.serializers import PostPageSerializer
from feeds.api.views import PAGE_PARAMETERS, page_bodies
from feeds.discovery.tags import actions, queries
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer
SHOWN = 20


class TagSerializer(serializers.Serializer[Any]):
    """A tag; the counts are of public posts."""

    name = serializers.CharField(help_text="normalized, without #")
    count_day = serializers.IntegerField(help_text="posts of the last 24 hours")
    count_week = serializers.IntegerField(help_text="posts of the last seven times 24 hours")
    days = serializers.ListField(
        child=serializers.IntegerField(), help_text="the posts of each of these, the oldest first"
    )
    following = serializers.BooleanField(help_text="I follow the tag")


class TagListSerializer(serializers.Serializer[Any]):
    """Tags."""

    items = TagSerializer(many=True)


class Tags(APIView):
    """Tags by name."""

    permission_classes = [AllowAny]
    takes = {"GET": (budgets.SEARCH,)}

    @extend_schema(
        operation_id="tags_list",
        parameters=[OpenApiParameter("q", str, description="the beginning of a name")],
        responses={200: TagListSerializer, 429: Errors},
    )
    def get(self, request: Request) -> Response:
        """Return the tags whose name begins like this, those with most posts first."""
        found = queries.matching(request.user, request.GET.get("q", ""), SHOWN)
        return Response({"items": found})


class Trending(APIView):
    """The tags in use."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(responses={200: TagListSerializer})
    def get(self, request: Request) -> Response:
        """Return the tags that more people use today than usually, in this order."""
        return Response({"items": queries.trending(request.user, SHOWN)})


class OneTag(APIView):
    """A tag."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(responses={200: TagSerializer, 404: Errors})
    def get(self, request: Request, name: str) -> Response:
        """Return a tag, also one that nobody used yet; 404 for what is no name of a tag.

        A name may begin with `#`, as that of the tag `#trending` has to here.
        """
        return Response(queries.one(request.user, queries.named(name)))


class TagPosts(APIView):
    """The posts with a tag."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(
        parameters=PAGE_PARAMETERS, responses={200: PostPageSerializer, 400: Errors, 404: Errors}
    )
    def get(self, request: Request, name: str) -> Response:
        """Return a page of the posts with a tag that I may see, newest first."""
        cursor, size = api.feed_params(request)
        page = queries.posts(request.user, queries.named(name), cursor, size)
        return Response(page_bodies(request.user, page))


class TagFollow(APIView):
    """My follow of a tag."""

    takes = {"PUT": (budgets.FOLLOW,), "DELETE": (budgets.FOLLOW,)}
    answers = {200: TagSerializer, 401: Errors, 404: Errors, 429: Errors}

    @extend_schema(request=None, responses={**answers, 409: Errors})
    def put(self, request: PersonRequest, name: str) -> Response:
        """Follow the tag; a repeat changes nothing."""
        return Response(queries.one(request.user, actions.follow(request.user, name)))

    @extend_schema(responses=answers)
    def delete(self, request: PersonRequest, name: str) -> Response:
        """Stop following the tag; a repeat changes nothing."""
        actions.unfollow(request.user, name)
        return Response(queries.one(request.user, queries.named(name)))


class TagsFeed(APIView):
    """The posts with tags that I follow."""

    takes = {"GET": READS}

    @extend_schema(
        parameters=PAGE_PARAMETERS, responses={200: PostPageSerializer, 400: Errors, 401: Errors}
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page of the posts with a tag that I follow, newest first."""
        cursor, size = api.feed_params(request)
        page = queries.posts_of_followed(request.user, cursor, size)
        return Response(page_bodies(request.user, page))
