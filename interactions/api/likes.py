"""API of likes."""

from collections.abc import Mapping

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from interactions import actions, queries
from interactions.api.serializers import LikeSerializer
from interactions.models import SubjectType
from relations.api.serializers import PersonPageSerializer
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import LIST_PAGE
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS

Errors = api.ErrorSerializer
PEOPLE = {200: PersonPageSerializer, 400: Errors, 404: Errors}
LIKED = {200: LikeSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors}


class Like(APIView):
    """My like of a post or comment."""

    subj_type = SubjectType.POST
    takes = {"PUT": (budgets.MARK,), "DELETE": (budgets.MARK,)}

    @extend_schema(request=None, responses=LIKED)
    def put(self, request: PersonRequest, **ids: str) -> Response:
        """Like; a repeat changes nothing."""
        count = actions.like(request.user, self.subj_type, _id(ids))
        return Response({"liked": True, "like_count": count})

    @extend_schema(responses=LIKED)
    def delete(self, request: PersonRequest, **ids: str) -> Response:
        """Remove the like; a repeat changes nothing. `like_count` is 0 for what is hidden."""
        count = actions.unlike(request.user, self.subj_type, _id(ids))
        return Response({"liked": False, "like_count": count})


class Likes(APIView):
    """The people who like a post or comment."""

    subj_type = SubjectType.POST
    permission_classes = [AllowAny]
    takes = {"GET": READS}

    @extend_schema(parameters=LIST_PAGE, responses=PEOPLE)
    def get(self, request: Request, **ids: str) -> Response:
        """Return a page of visible people, the newest like first."""
        cursor, size = api.page_params(request)
        page = queries.likers(request.user, self.subj_type, _id(ids), cursor, size)
        return Response({"items": page.items, "next": page.next})


def _id(ids: Mapping[str, str]) -> int:
    """Return the only id in the address."""
    (ident,) = ids.values()
    return api.parse_id(ident)
