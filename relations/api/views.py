"""API of relations: follow, block, lists, states of pairs."""

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import queries as accounts_queries
from accounts.models import User
from accounts.request_auth.requests import PersonRequest
from relations import actions, queries
from relations.api.serializers import (
    PersonPageSerializer,
    RelationSerializer,
    UserRelationListSerializer,
)
from relations.models import Relation
from relations.pairs import states
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import PEOPLE, READS

IDS_MAX = 100
CHANGED = {
    200: RelationSerializer,
    400: Errors,
    401: Errors,
    403: Errors,
    404: Errors,
    409: Errors,
    429: Errors,
}
SEARCH = OpenApiParameter(
    "q",
    str,
    description="beginning of a username or nickname; only in one's own list, otherwise 400",
)
Action = Callable[[User, User], Relation | None]


def _change(request: PersonRequest, user_id: str, action: Action) -> Response:
    """Apply an action to the person in the URL; answer with the new relation."""
    target = User(pk=api.parse_id(user_id))  # the action checks the account
    return Response({"relation": queries.name(action(request.user, target))})


class Follow(APIView):
    """Follow of one person; both methods share one budget."""

    takes = {"POST": (budgets.FOLLOW,), "DELETE": (budgets.FOLLOW,)}

    @extend_schema(request=None, responses=CHANGED)
    def post(self, request: PersonRequest, user_id: str) -> Response:
        """Follow. If I block the person, nothing changes: 200 with the current `relation`.

        Error 12 for oneself, 1 for an unknown person, 3 for a banned account, 9 if they block me,
        10 above the cap, 11 above the budget.
        """
        return _change(request, user_id, actions.follow)

    @extend_schema(responses=CHANGED)
    def delete(self, request: PersonRequest, user_id: str) -> Response:
        """Unfollow, even a banned or closed account; their follow of me stays."""
        return _change(request, user_id, actions.unfollow)


class Follower(APIView):
    """Follow of me by one person."""

    takes = {"DELETE": (budgets.FOLLOW,)}

    @extend_schema(responses=CHANGED)
    def delete(self, request: PersonRequest, user_id: str) -> Response:
        """Remove a follower: their follow of me ends, and they are not notified.

        Without such a follow nothing changes. Error 1 for people who are hidden from me.
        """
        ident = api.parse_id(user_id)
        if not states.is_followed(queries.relation(request.user.pk, ident)):
            queries.profile(request.user, accounts_queries.by_id(ident))
        return _change(request, user_id, actions.remove_follower)


BLOCKED = {status: shape for status, shape in CHANGED.items() if status != 409}


class Block(APIView):
    """Block of one person."""

    takes = {"POST": (budgets.BLOCK,), "DELETE": (budgets.BLOCK,)}

    @extend_schema(request=None, responses=BLOCKED)
    def post(self, request: PersonRequest, user_id: str) -> Response:
        """Block, even a banned or closed account; ends the follows of both directions."""
        return _change(request, user_id, actions.block)

    @extend_schema(responses=BLOCKED)
    def delete(self, request: PersonRequest, user_id: str) -> Response:
        """Unblock; follows that the block ended stay ended."""
        return _change(request, user_id, actions.unblock)


class People(APIView):
    """One list of a person; the URLs choose it by `kind`."""

    permission_classes = [AllowAny]
    takes = {"GET": PEOPLE}
    kind = ""

    @extend_schema(
        parameters=LIST_PAGE, responses={200: PersonPageSerializer, 400: Errors, 404: Errors}
    )
    def get(self, request: Request, user_id: str) -> Response:
        """Return a page, newest first; 404 if one of the two blocks the other."""
        person = accounts_queries.by_id(api.parse_id(user_id))
        if queries.is_blocked(request.user.pk, person.pk):
            raise errors.UserNotFound
        cursor, size = api.page_params(request)
        text = request.GET.get("q", "").strip()
        if not text:
            page = queries.LISTS[self.kind](person.pk, cursor, size, request.user.pk)
        elif person.pk == request.user.pk and self.kind in queries.SEARCHED:
            page = queries.search_own(person.pk, self.kind, text, cursor, size)
        else:
            message = _("Only the people you follow and your friends can be searched.")
            raise errors.InvalidInput(fields={"q": [message]})
        return Response({"items": page.items, "next": page.next})


@extend_schema_view(get=extend_schema(parameters=[*LIST_PAGE, SEARCH]))
class SearchablePeople(People):
    """A list that its owner may search; FOLLOW_LIMIT bounds its length."""


class BlockedPeople(APIView):
    """The people I block."""

    takes = {"GET": PEOPLE}

    @extend_schema(
        parameters=LIST_PAGE, responses={200: PersonPageSerializer, 400: Errors, 401: Errors}
    )
    def get(self, request: PersonRequest) -> Response:
        """Return a page, the latest block first."""
        cursor, size = api.page_params(request)
        page = queries.blocked(request.user.pk, cursor, size)
        return Response({"items": page.items, "next": page.next})


class NewPeople(APIView):
    """The newest accounts."""

    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=LIST_PAGE, responses={200: PersonPageSerializer, 400: Errors})
    def get(self, request: Request) -> Response:
        """Return a page of people, the newest account first."""
        cursor, size = api.page_params(request)
        page = queries.new_people(request.user, cursor, size)
        return Response({"items": page.items, "next": page.next})


class Relations(APIView):
    """My relations to several people."""

    takes = {"GET": (budgets.RELATION_READ,)}

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "ids",
                str,
                required=True,
                description=f"comma-separated ids of people, at most {IDS_MAX}",
            )
        ],
        responses={200: UserRelationListSerializer, 400: Errors, 401: Errors},
    )
    def get(self, request: Request) -> Response:
        """Return my true relation to each, even to those who block me."""
        ids = _ids(request.GET.get("ids", ""))
        found = queries.relations_of(request.user.pk, ids)
        items: list[dict[str, Any]] = [
            {"user_id": str(ident), "relation": queries.name(state)}
            for ident, state in found.items()
        ]
        return Response({"items": items})


def _ids(text: str) -> list[int]:
    parts = text.split(",") if text else []
    if not 0 < len(parts) <= IDS_MAX:
        message = _("Give 1 to %(max)s ids, separated by commas.") % {"max": IDS_MAX}
        raise errors.InvalidInput(fields={"ids": [message]})
    return [api.parse_id(part.strip(), "ids") for part in parts]
