"""API of the acts of staff on the requesting person, and of appeals against them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import actions, staff_acts
from accounts.api.serializers import Text
from accounts.api.sign_in import OpenView
from accounts.models import Appeal, Reason, StaffAct
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow
from socialsite.core.http import api, page_sizes
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS


class AppealSerializer(serializers.Serializer[Any]):
    """One's objection to an act, and the decision."""

    text = serializers.CharField()
    state = serializers.ChoiceField(choices=Appeal.State.choices)
    created_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    answer = serializers.CharField(help_text="what staff answered; may be empty")


class ActSerializer(serializers.Serializer[Any]):
    """One act of staff on the person."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=StaffAct.Kind.choices)
    reason = serializers.ChoiceField(choices=Reason.choices, allow_blank=True)
    words = serializers.CharField(help_text="what staff wrote to the person; may be empty")
    until = serializers.DateTimeField(allow_null=True, help_text="end of a suspension")
    created_at = serializers.DateTimeField()
    undone_at = serializers.DateTimeField(allow_null=True)
    may_appeal = serializers.BooleanField()
    subject_id = serializers.CharField(
        allow_null=True, help_text="the post or comment that was deleted"
    )
    appeal = AppealSerializer(allow_null=True)


class ActPageSerializer(serializers.Serializer[Any]):
    """Acts of staff, the newest first."""

    items = ActSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class AppealInputSerializer(serializers.Serializer[Any]):
    """Why the person objects."""

    text = serializers.CharField(max_length=Appeal.TEXT_MAX)


class OutsideSerializer(serializers.Serializer[Any]):
    """Name and password of a person who cannot log in; `otp` if two-factor sign-in is on."""

    username = Text()
    password = Text()
    otp = Text(required=False, default="", allow_blank=True)


class OutsideAppealSerializer(OutsideSerializer):
    """The same, with the id of the act and the text of the appeal."""

    act = serializers.CharField()
    text = serializers.CharField(max_length=Appeal.TEXT_MAX)


class Acts(APIView):
    """Acts of staff on the requesting person."""

    takes = {"GET": READS}

    @extend_schema(
        responses={200: ActPageSerializer, 400: Errors, 401: Errors, 429: Errors, 503: Errors}
    )
    def get(self, request: Request) -> Response:
        """Return what staff decided about me, with reasons."""
        user, _principal = signed_in(request)
        page = staff_acts.of_person(user.pk, *api.page_params(request))
        return Response({"items": page.items, "next": page.next})


class ActAppeal(APIView):
    """An appeal of the requesting person."""

    takes = {"POST": (budgets.APPEAL,)}

    @extend_schema(
        request=AppealInputSerializer,
        responses={
            201: ActSerializer,
            400: Errors,
            401: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request, act_id: str) -> Response:
        """Object to an act, once."""
        data = api.read(AppealInputSerializer, request.data)
        user, _principal = signed_in(request)
        found = actions.appeal(user, api.parse_id(act_id), data["text"])
        return Response(staff_acts.body(found.act), status=201)


class ActsOutside(OpenView):
    """Acts of staff on a person whom they keep from logging in."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=OutsideSerializer,
        responses={
            200: ActPageSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,  # with LOGIN_ERRORS=separate
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Return the newest acts of staff on a person, by name and password."""
        data = api.read(OutsideSerializer, request.data)
        user = flow.identify(request._request, data["username"], data["password"], data["otp"])
        page = staff_acts.of_person(user.pk, None, page_sizes.PAGE_SIZE)
        return Response({"items": page.items, "next": None})


class AppealOutside(OpenView):
    """An appeal of a person who cannot log in."""

    takes = {"POST": (budgets.LOGIN,)}

    @extend_schema(
        request=OutsideAppealSerializer,
        responses={
            201: ActSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
            503: Errors,
        },
    )
    def post(self, request: Request) -> Response:
        """Object to an act, once, by name and password."""
        data = api.read(OutsideAppealSerializer, request.data)
        act_id = api.parse_id(data["act"], "act")
        user = flow.identify(request._request, data["username"], data["password"], data["otp"])
        found = actions.appeal(user, act_id, data["text"])
        return Response(staff_acts.body(found.act), status=201)
