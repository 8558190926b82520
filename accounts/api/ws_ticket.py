"""API of WebSocket tickets, for programs that cannot send headers to `/ws/session/`."""

from dataclasses import asdict

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import cache
from accounts.api import serializers
from accounts.request_auth.authentication import signed_in
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets


class WsTicket(APIView):
    """A ticket for one WebSocket."""

    takes = {"POST": (budgets.WS_TICKET,)}

    @extend_schema(
        request=None,
        responses={200: serializers.TicketSerializer, 401: Errors, 403: Errors, 503: Errors},
    )
    def post(self, request: Request) -> Response:
        """Return a ticket for `/ws/session/?ticket=…`, valid once, for 30 seconds.

        The socket ends with the access token of this request. Redis alone stores tickets: 503
        without it.
        """
        _user, principal = signed_in(request)
        return Response({"ticket": cache.store_ticket(asdict(principal))})
