"""API of reports."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from interactions import actions
from interactions.models import REPORTABLE
from interactions.serializers import NewReportSerializer, ReportSerializer
from socialsite.core import api, budgets
from socialsite.core.idempotency import idempotent
from socialsite.core.parameters import IDEMPOTENCY_KEY

Errors = api.ErrorSerializer


class Reports(APIView):
    """What I tell staff."""

    @extend_schema(
        request=NewReportSerializer,
        parameters=[IDEMPOTENCY_KEY],
        responses={
            200: ReportSerializer,
            201: ReportSerializer,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            409: Errors,
            429: Errors,
        },
    )
    @idempotent(budgets.REPORT)
    def post(self, request: Request) -> Response:
        """Report a post, a comment or a person to staff: 201; 200 while an earlier one is open.

        Nobody but staff learns who reported.
        """
        values = api.read(NewReportSerializer, request.data)
        is_new = actions.report(
            request.user,
            REPORTABLE[values["type"]],
            api.parse_id(values["id"]),
            values["reason"],
            values["words"],
        )
        told = {name: values[name] for name in ("type", "id", "reason")}
        return Response(told, status=201 if is_new else 200)
