"""API of one's own invitations."""

from functools import partial
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions, invites
from accounts.api import sign_up_serializers as serializers
from accounts.models import Invite
from accounts.request_auth.authentication import signed_in
from relations import queries as relations_queries
from relations.queries import Person
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS
from socialsite.core.times import iso_of


class Invites(APIView):
    """The invitations of the requesting person."""

    takes = {"GET": READS, "POST": (budgets.INVITE,)}

    @extend_schema(responses={200: serializers.InvitePageSerializer, 401: Errors, 503: Errors})
    def get(self, request: Request) -> Response:
        """Return one's invitations, those that have ended too."""
        user, _principal = signed_in(request)
        page = invites.of_person(user.pk)
        people = partial(relations_queries.shown_people, user.pk)
        came = invites.came_by(page.items, people)
        items = [_body(one, came.get(one.pk, [])) for one in page.items]
        return Response({"items": items, "next": page.next})

    @extend_schema(
        request=serializers.InviteInputSerializer,
        responses={
            201: serializers.InviteSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            409: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Make an invitation."""
        data = api.read(serializers.InviteInputSerializer, request.data)
        user, _principal = signed_in(request)
        return Response(_body(actions.create_invite(user, **data), []), status=201)


class OneInvite(APIView):
    """An invitation of the requesting person."""

    takes = {"DELETE": (budgets.INVITE,)}

    @extend_schema(
        responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors, 503: Errors}
    )
    def delete(self, request: Request, invite_id: str) -> Response:
        """End it now; who came by it stays known."""
        user, _principal = signed_in(request)
        actions.end_own_invite(user, api.parse_id(invite_id))
        return Response(status=204)


def _body(invite: Invite, people: list[Person]) -> dict[str, Any]:
    return {
        "id": str(invite.pk),
        "url": invites.address_of(invite),
        "code": invite.code,
        "uses": invite.uses,
        "used": invite.used,
        "created_at": iso_of(invite.created_at),
        "ends_at": iso_of(invite.ends_at),
        "people": [card["id"] for card in people],
    }
