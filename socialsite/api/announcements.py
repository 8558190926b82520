"""API of the announcements of the site."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.request_auth.requests import PersonRequest
from socialsite.core import site
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS
from socialsite.core.site import announcements
from socialsite.core.times import iso


class AnnouncementSerializer(serializers.Serializer[Any]):
    """An announcement in the language of the request."""

    id = serializers.CharField()
    text = serializers.CharField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()


class AnnouncementsSerializer(serializers.Serializer[Any]):
    """The announcements of now, latest first."""

    items = AnnouncementSerializer(many=True)


class Announcements(APIView):
    """The announcements."""

    permission_classes = (AllowAny,)
    takes = {"GET": READS}

    @extend_schema(responses={200: AnnouncementsSerializer})
    def get(self, request: Request) -> Response:
        """What the site tells everybody now, without what the sender dismissed.

        Guests get those that are for them too.
        """
        user = request.user
        shown = announcements.current(site.current(), member=user.is_authenticated)
        if isinstance(user, User):
            shown = announcements.without_dismissed(shown, user.pk)
        items = [
            {
                "id": str(one.id),
                "text": one.text,
                "starts_at": iso(one.starts_at),
                "ends_at": iso(one.ends_at),
            }
            for one in shown
        ]
        return Response({"items": items})


class Dismissal(APIView):
    """The dismissal of an announcement."""

    takes = {"POST": (budgets.MARK,)}

    @extend_schema(
        request=None, responses={204: None, 400: Errors, 401: Errors, 404: Errors, 429: Errors}
    )
    def post(self, request: PersonRequest, announcement_id: str) -> Response:
        """Show it to me no more, on any device; a repeat changes nothing."""
        announcements.dismiss(request.user.pk, api.parse_id(announcement_id))
        return Response(status=204)
