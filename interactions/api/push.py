"""API of pushes to the requesting device, and of what is pushed to all devices of a person."""

from django.utils import translation
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.push import actions as push_actions
from accounts.push import queries as push_queries
from accounts.request_auth.authentication import signed_in
from accounts.request_auth.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import (
    PushedKindsSerializer,
    PushSerializer,
    SubscriptionSerializer,
)
from socialsite.core.client import web_push
from socialsite.core.errors import NotFound
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets

Errors = api.ErrorSerializer


def _push(request: PersonRequest, status: int = 200) -> Response:
    user, principal = signed_in(request)
    return Response(
        {
            "public_key": web_push.public_key() or None,
            "devices": push_queries.devices(user.pk, principal.client),
            "kinds": queries.pushed_kinds(user),
        },
        status=status,
    )


class Push(APIView):
    """Pushes to my devices."""

    takes = {
        "GET": (budgets.READ,),
        "POST": (budgets.PUSH,),
        "PATCH": (budgets.NOTIFICATION,),
        "DELETE": (budgets.PUSH,),
    }

    @extend_schema(responses={200: PushSerializer, 401: Errors})
    def get(self, request: PersonRequest) -> Response:
        """Return the site's public key, the devices that receive pushes, and the pushed kinds.

        `public_key` is null if the site sends no pushes.
        """
        return _push(request)

    @extend_schema(
        request=SubscriptionSerializer,
        responses={201: PushSerializer, 400: Errors, 401: Errors, 404: Errors},
    )
    def post(self, request: PersonRequest) -> Response:
        """Push to the requesting device from now on, until its sign-in ends.

        The body is a `PushSubscription` of the browser as JSON. It replaces an earlier one of the
        device, and that of anybody else with the same endpoint. 404 if the site
        sends no pushes, or the device does not have the endpoint that this one `replaces`.
        """
        if not web_push.is_on():
            raise NotFound
        values = api.read(SubscriptionSerializer, request.data)
        user, principal = signed_in(request)
        keys = values["keys"]
        push_actions.subscribe(
            user,
            principal,
            values["endpoint"],
            keys["p256dh"],
            keys["auth"],
            translation.get_language() or "",
            replaces=values.get("replaces"),
        )
        return _push(request, 201)

    @extend_schema(
        request=PushedKindsSerializer, responses={200: PushSerializer, 400: Errors, 401: Errors}
    )
    def patch(self, request: PersonRequest) -> Response:
        """Choose which kinds are pushed; only the given ones change, for all devices."""
        values = api.read(PushedKindsSerializer, request.data)
        actions.choose_pushed(request.user, values["kinds"])
        return _push(request)

    @extend_schema(responses={204: None, 401: Errors})
    def delete(self, request: PersonRequest) -> Response:
        """Send no more pushes to the requesting device."""
        user, principal = signed_in(request)
        push_actions.unsubscribe(user, principal.client)
        return Response(status=204)
