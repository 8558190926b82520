"""API of drafts: only their author sees them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds.api.serializers import ImageSerializer, NewPostSerializer, PostSerializer, body
from feeds.api.views import one_post
from feeds.drafts import actions, queries
from feeds.models import Kind, Visibility
from feeds.queries import written
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY, LIST_PAGE
from socialsite.core.media.videos.api import OwnVideoSerializer
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.requests.idempotency import Created, idempotent
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer


class NewDraftSerializer(NewPostSerializer):
    """Input of a draft: the fields of a post, each optional, and a time to publish it."""

    publish_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="a time in the future, with its time zone"
    )


class DraftPollSerializer(serializers.Serializer[Any]):
    """The poll of a draft, as it was given."""

    options = serializers.ListField(child=serializers.CharField(allow_blank=True))
    multiple = serializers.BooleanField()
    ends_at = serializers.CharField(allow_null=True, help_text="UTC")
    lasts = serializers.IntegerField(allow_null=True, help_text="seconds")


class DraftSerializer(serializers.Serializer[Any]):
    """A draft."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    title = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    content = serializers.CharField(allow_blank=True)
    sensitive = serializers.BooleanField()
    video = OwnVideoSerializer(allow_null=True, help_text="an uploaded video")
    images = ImageSerializer(many=True)
    video_url = serializers.CharField(allow_blank=True)
    poll = DraftPollSerializer(allow_null=True)
    visibility = serializers.ChoiceField(choices=Visibility.values)
    publish_at = serializers.CharField(allow_null=True, help_text="UTC")
    failed_at = serializers.CharField(
        allow_null=True, help_text="when a publication at `publish_at` did not succeed"
    )
    expires_at = serializers.CharField(
        allow_null=True, help_text="when it is deleted, unless you change or schedule it"
    )
    created_at = serializers.CharField()
    updated_at = serializers.CharField()


class DraftPageSerializer(serializers.Serializer[Any]):
    """A page of drafts."""

    items = DraftSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


def _values(request: PersonRequest) -> dict[str, Any]:
    """Return the fields of a draft. A draft with a time takes from the budget of posts."""
    values = api.read(NewDraftSerializer, request.data)
    if values["publish_at"] is not None:
        values["publish_at"] = round(values["publish_at"].timestamp() * 1000)
        buckets.spend(budgets.PUBLISH, request.user.pk)
    return values


def _one(request: PersonRequest, draft_id: int) -> dict[str, Any]:
    return {**queries.draft(request.user, draft_id)}


class Drafts(APIView):
    """The actor's drafts."""

    takes = {"GET": READS}

    @extend_schema(
        operation_id="drafts_list",
        parameters=LIST_PAGE,
        responses={200: DraftPageSerializer, 400: Errors, 401: Errors},
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page of your drafts, last changed first."""
        cursor, size = api.page_params(request)
        page = queries.drafts(request.user, cursor, size)
        return Response({"items": page.items, "next": page.next})

    @extend_schema(
        request=NewDraftSerializer,
        responses={
            201: DraftSerializer,
            400: Errors,
            401: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
        parameters=[IDEMPOTENCY_KEY],
    )
    @idempotent(_one, budgets.DRAFT)
    def post(self, request: PersonRequest) -> Created:
        """Save a new draft."""
        made = actions.create(request.user, _values(request))
        return Created(made.pk, Response(_one(request, made.pk), status=201))


class OneDraft(APIView):
    """One of the actor's drafts."""

    takes = {"GET": READS, "PUT": (budgets.DRAFT,), "DELETE": (budgets.DRAFT,)}

    @extend_schema(responses={200: DraftSerializer, 400: Errors, 401: Errors, 404: Errors})
    def get(self, request: PersonRequest, draft_id: str) -> Response:
        """Return a draft of yours."""
        return Response(_one(request, api.parse_id(draft_id)))

    @extend_schema(
        request=NewDraftSerializer,
        responses={200: DraftSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors},
    )
    def put(self, request: PersonRequest, draft_id: str) -> Response:
        """Save a draft anew; a field that is not given becomes empty."""
        ident = api.parse_id(draft_id)
        actions.replace(request.user, ident, _values(request))
        return Response(_one(request, ident))

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors})
    def delete(self, request: PersonRequest, draft_id: str) -> Response:
        """Delete a draft."""
        actions.delete(request.user, api.parse_id(draft_id))
        return Response(status=204)


class Publish(APIView):
    """Publish a draft."""

    @extend_schema(
        request=None,
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
    def post(self, request: PersonRequest, draft_id: str) -> Created:
        """Publish a draft now; the draft is gone then."""
        made = actions.publish(request.user, api.parse_id(draft_id))
        return Created(made.pk, Response(body(written(made)), status=201))
