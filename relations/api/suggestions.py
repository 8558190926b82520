"""API of suggestions: people to follow."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from relations.api.serializers import PersonSerializer
from relations.suggestions import actions, queries
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import PEOPLE


class CardSerializer(serializers.Serializer[Any]):
    """A person."""

    id = serializers.CharField()
    username = serializers.CharField()
    nickname = serializers.CharField()
    avatar = serializers.CharField(allow_blank=True)
    bio = serializers.CharField(allow_blank=True)


class ReasonSerializer(serializers.Serializer[Any]):
    """Why somebody is suggested."""

    kind = serializers.ChoiceField(choices=("followed", "popular"))
    common = CardSerializer(many=True, help_text="at most 3 people whom you follow")
    users = CardSerializer(many=True, help_text="older name of `common`, until the next version")
    count = serializers.IntegerField(help_text="how many people whom you follow follow them")


class SuggestionSerializer(PersonSerializer):
    """A person to follow."""

    reason = ReasonSerializer()


class SuggestionPageSerializer(serializers.Serializer[Any]):
    """A page of people to follow, best first."""

    items = SuggestionSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class Suggested(APIView):
    """People to follow."""

    takes = {"GET": PEOPLE}

    @extend_schema(
        parameters=LIST_PAGE, responses={200: SuggestionPageSerializer, 400: Errors, 401: Errors}
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page of people whom you may want to follow, best first."""
        cursor, size = api.page_params(request)
        page = queries.suggested(request.user, cursor, size)
        items = [{**one, "reason": _with_old_name(one["reason"])} for one in page.items]
        return Response({"items": items, "next": page.next})


def _with_old_name(reason: queries.Reason) -> dict[str, Any]:
    return {**reason, "users": reason["common"]}


class OneSuggestion(APIView):
    """One person to follow."""

    takes = {"DELETE": (budgets.MARK,)}

    @extend_schema(responses={204: None, 400: Errors, 401: Errors, 429: Errors})
    def delete(self, request: PersonRequest, user_id: str) -> Response:
        """Never suggest this person again; the answer is the same for everybody."""
        actions.dismiss(request.user, api.parse_id(user_id))
        return Response(status=204)
