"""API of feeds: posts, home feed, new count, recommended."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.permissions import AllowAny, IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.request_auth.authentication import ApiUser
from accounts.request_auth.requests import PersonRequest
from feeds import actions, queries
from feeds.api.serializers import (
    AudienceSerializer,
    EditSerializer,
    EntryPageSerializer,
    HistorySerializer,
    NewCountSerializer,
    NewPostSerializer,
    PostPageSerializer,
    PostSerializer,
    bodies,
    body,
)
from feeds.cards.card import Card
from feeds.discovery import public_posts
from feeds.home.page import HomeReading
from interactions import queries as interactions_queries
from relations import queries as relations_queries
from socialsite.core import errors, redis
from socialsite.core.cache import reads
from socialsite.core.http import api
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.http.json import dumps
from socialsite.core.http.openapi_parameters import FEED_PAGE, IDEMPOTENCY_KEY, LIST_PAGE
from socialsite.core.positions import MAX_TS_MS, Page, Position
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent
from socialsite.core.requests.request_budgets import READS

PAGE_PARAMETERS = [
    *FEED_PAGE,
    OpenApiParameter(
        "max_time",
        {"type": "integer", "minimum": 0, "maximum": MAX_TS_MS},
        description="Unix ms; only older posts, may skip posts of the same ms",
    ),
]
Errors = api.ErrorSerializer


def page_bodies(viewer: Any, page: Page[Card]) -> dict[str, Any]:
    """Return a page of posts with their counts as JSON for the API."""
    return {"items": bodies(interactions_queries.decorate(viewer, page.items)), "next": page.next}


def one_post(request: Request, post_id: int) -> dict[str, Any]:
    """Return a post that the reader may see, with its counts."""
    card = queries.post(request.user, post_id)
    return body(interactions_queries.decorate(request.user, [card])[0])


class Posts(APIView):
    """The actor's outbox."""

    @extend_schema(
        request=NewPostSerializer,
        responses={
            201: PostSerializer,
            400: Errors,
            401: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent(one_post, budgets.PUBLISH)
    def post(self, request: PersonRequest) -> Created:
        """Publish a post: micro, article or video."""
        values = api.read(NewPostSerializer, request.data)
        post = actions.publish(request.user, **values)
        return Created(post.pk, Response(body(queries.written(post)), status=201))


class OnePost(APIView):
    """One post."""

    permission_classes = [IsAuthenticatedOrReadOnly]
    takes = {"GET": READS, "PATCH": (budgets.EDIT,), "DELETE": (budgets.DELETE,)}

    @extend_schema(responses={200: PostSerializer, 400: Errors, 404: Errors})
    def get(self, request: Request, post_id: str) -> Response:
        """Return a post that the reader may see."""
        return Response(one_post(request, api.parse_id(post_id)))

    @extend_schema(
        request=EditSerializer,
        responses={
            200: PostSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
    )
    def patch(self, request: PersonRequest, post_id: str) -> Response:
        """Edit one's own post, if it still has the version that the edit is based on."""
        ident = api.parse_id(post_id)
        values = api.read(EditSerializer, request.data)
        if "poll" in request.data:
            raise errors.InvalidInput(fields={"poll": [_("A poll cannot be changed.")]})
        if "alts" in values:
            alts = values["alts"].items()
            values["alts"] = {api.parse_id(key, "alts"): text for key, text in alts}
        actions.edit(request.user, ident, **values)
        return Response(one_post(request, ident))

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 403: Errors, 404: Errors})
    def delete(self, request: PersonRequest, post_id: str) -> Response:
        """Delete one's own post."""
        ident = api.parse_id(post_id)
        actions.delete(request.user, ident, address_of(request._request))
        return Response(status=204)


class History(APIView):
    """The versions of a post."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(
        parameters=LIST_PAGE, responses={200: HistorySerializer, 400: Errors, 404: Errors}
    )
    def get(self, request: Request, post_id: str) -> Response:
        """Return a page of the versions of a post that the reader may see, newest first."""
        cursor, size = api.page_params(request)
        page = queries.history(request.user, api.parse_id(post_id), cursor, size)
        return Response({"items": page.items, "next": page.next})


class PostAudience(APIView):
    """The readers of a post."""

    takes = {"GET": READS}

    @extend_schema(
        responses={200: AudienceSerializer, 400: Errors, 401: Errors, 403: Errors, 404: Errors}
    )
    def get(self, request: PersonRequest, post_id: str) -> Response:
        """Return who can see one's own post."""
        return Response(queries.audience_of(request.user, api.parse_id(post_id)))


class HomeFeed(APIView):
    """The home feed, asked for more than everything else: a page costs less than DRF does."""

    takes = {"GET": (budgets.DEEP_READ,)}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer GET without DRF's request, negotiation and response."""
        if request.method not in ("GET", "HEAD"):
            return super().dispatch(request, *args, **kwargs)
        try:
            return self.get(request)
        except Exception as error:
            return api.error_response(api.to_app_error(error))

    @extend_schema(parameters=PAGE_PARAMETERS, responses={200: PostPageSerializer, 400: Errors})
    def get(self, request: HttpRequest) -> HttpResponse:
        """Return a page of the posts of the reader and of everyone the reader follows now."""
        who = ApiUser(request, self.takes)
        cursor, size = api.feed_params(request)
        decoration = interactions_queries.Decoration(who.user_id)
        reading = HomeReading(who.user_id, cursor, size, decoration)
        reads.ask(who, *reading.first())
        grant = who.admit()
        with redis.gathered():
            page = reading.page()
            if cursor is None:
                actions.mark_first_page_read(who.user_id, page.items, reading.known_mark)
        answer = {"items": bodies(page.items), "next": page.next}
        headers = grant.headers()
        return HttpResponse(dumps(answer), content_type="application/json", headers=headers)


class NewCount(APIView):
    """How many posts are new."""

    takes = {"GET": (budgets.POLL,)}

    @extend_schema(responses={200: NewCountSerializer})
    def get(self, request: PersonRequest) -> Response:
        """Return how many posts of others are newer than the first page last read."""
        count, more = queries.new_count(request.user)
        return Response({"count": count, "more": more})


class Recommended(APIView):
    """The recommended feed."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=PAGE_PARAMETERS, responses={200: PostPageSerializer, 400: Errors})
    def get(self, request: Request) -> Response:
        """Return a page of public posts by recommended authors."""
        cursor, size = api.feed_params(request)
        return Response(
            page_bodies(request.user, public_posts.recommended(request.user, cursor, size))
        )


class Rising(APIView):
    """The posts that people react to now."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=LIST_PAGE, responses={200: PostPageSerializer, 400: Errors})
    def get(self, request: Request) -> Response:
        """Return a page of public posts by the reactions of the last day, the best first."""
        cursor, size = api.feed_params(request)
        page = interactions_queries.rising(request.user, cursor, size)
        return Response({"items": bodies(page.items), "next": page.next})


KIND = OpenApiParameter(
    "kind", str, enum=["all", "media"], description="`media`: with pictures or a video"
)


class OfPerson(APIView):
    """Posts and comments that one person wrote or likes."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    def read(self, request: Request, user_id: str) -> tuple[User, Position | None, int]:
        """Return the person, cursor and size; raises UserNotFound if one blocks the other."""
        person = accounts_queries.by_id(api.parse_id(user_id))
        if relations_queries.is_blocked(request.user.pk, person.pk):
            raise errors.UserNotFound
        cursor, size = api.feed_params(request)
        return person, cursor, size


class UserPosts(OfPerson):
    """One author's posts."""

    @extend_schema(
        parameters=[*PAGE_PARAMETERS, KIND],
        responses={200: PostPageSerializer, 400: Errors, 404: Errors},
    )
    def get(self, request: Request, user_id: str) -> Response:
        """Return a page of the posts of one person, all kinds or those with media."""
        author, cursor, size = self.read(request, user_id)
        kind = request.GET.get("kind", "all")
        if kind not in ("all", "media"):
            raise errors.InvalidInput(fields={"kind": [_("Must be all or media.")]})
        read = queries.media_posts if kind == "media" else queries.profile_posts
        return Response(page_bodies(request.user, read(request.user, author.pk, cursor, size)))


class UserReplies(OfPerson):
    """One person's posts and comments."""

    @extend_schema(
        parameters=PAGE_PARAMETERS, responses={200: EntryPageSerializer, 400: Errors, 404: Errors}
    )
    def get(self, request: Request, user_id: str) -> Response:
        """Return a page of a person's posts and comments, newest first."""
        author, cursor, size = self.read(request, user_id)
        page = interactions_queries.posts_and_replies(request.user, author.pk, cursor, size)
        shown = iter(bodies([one["post"] for one in page.items if one["post"] is not None]))
        items = [
            {"post": None if one["post"] is None else next(shown), "comment": one["comment"]}
            for one in page.items
        ]
        return Response({"items": items, "next": page.next})


class UserLikes(OfPerson):
    """The posts that one person likes."""

    @extend_schema(
        parameters=PAGE_PARAMETERS, responses={200: PostPageSerializer, 400: Errors, 404: Errors}
    )
    def get(self, request: Request, user_id: str) -> Response:
        """Return a page of the posts that a person likes, newest post first.

        404 unless the person shows their likes, or is the requesting one.
        """
        person, cursor, size = self.read(request, user_id)
        if person.pk != request.user.pk and not person.likes_shown:
            raise errors.NotFound
        page = interactions_queries.liked_posts(request.user, person.pk, cursor, size)
        return Response({"items": bodies(page.items), "next": page.next})
