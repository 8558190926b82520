"""API of tickets: how a program that cannot send headers opens `/ws/session/`."""

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import cache, serializers
from accounts.authentication import signed_in
from socialsite.core import budgets
from socialsite.core.api import ErrorSerializer as Errors


class WsTicket(APIView):
    """A ticket for one socket."""

    takes = {"POST": (budgets.WS_TICKET,)}

    @extend_schema(
        request=None,
        responses={200: serializers.TicketSerializer, 401: Errors, 403: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Get a ticket for `/ws/session/?ticket=…`: good once, for 30 seconds.

        The socket is this access token's: it ends with it. 503 while Redis, which alone keeps
        tickets, is away.
        """
        _user, principal = signed_in(request)
        return Response({"ticket": cache.keep_ticket(asdict(principal))})
