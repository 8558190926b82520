"""API of votes in polls."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds import queries as feeds_queries
from feeds.api.serializers import PollSerializer
from feeds.content.polls.definition import OPTIONS_MAX
from interactions import actions, queries
from socialsite.core.http import api
from socialsite.core.http.serializer_fields import ShortListField
from socialsite.core.rate_limits import budgets

Errors = api.ErrorSerializer


class VoteSerializer(serializers.Serializer[Any]):
    """Input of PUT posts/{id}/vote; the action compares it with the poll."""

    choices = ShortListField(
        child=serializers.IntegerField(min_value=0, max_value=OPTIONS_MAX - 1),
        max_length=OPTIONS_MAX,
        help_text="places of options, from 0; one if the poll is not `multiple`",
    )


class PostVote(APIView):
    """My vote in the poll of a post."""

    takes = {"PUT": (budgets.MARK,)}

    @extend_schema(
        request=VoteSerializer,
        responses={
            200: PollSerializer,
            **dict.fromkeys((400, 401, 403, 404, 409, 429), Errors),
        },
    )
    def put(self, request: PersonRequest, post_id: str) -> Response:
        """Vote; a repeat changes nothing. A vote cannot be changed."""
        ident = api.parse_id(post_id)
        choices = api.read(VoteSerializer, request.data)["choices"]
        actions.vote(request.user, ident, choices)
        card = feeds_queries.post(request.user, ident)
        return Response(queries.decorate(request.user, [card])[0]["poll"])
