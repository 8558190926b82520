"""API of reports."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from interactions import actions
from interactions.api.serializers import NewReportSerializer, ReportSerializer
from interactions.models import REPORTABLE
from socialsite.core.http import api
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent

Errors = api.ErrorSerializer


def _body(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in ("type", "id", "reason")}


def _again(request: PersonRequest, subject_id: int) -> dict[str, Any]:
    """Return the object that this same request reported, if the reporter may still see it."""
    values = api.read(NewReportSerializer, request.data)
    actions.check_reportable(request.user, REPORTABLE[values["type"]], subject_id)
    return _body(values)


class Reports(APIView):
    """My reports to staff."""

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
    @idempotent(_again, budgets.REPORT)
    def post(self, request: PersonRequest) -> Created:
        """Report a post, a comment or a person to staff: 201; 200 if an earlier report is open.

        Only staff learn who reported.
        """
        values = api.read(NewReportSerializer, request.data)
        ident = api.parse_id(values["id"])
        is_new = actions.report(
            request.user,
            REPORTABLE[values["type"]],
            ident,
            values["reason"],
            values["words"],
        )
        return Created(ident, Response(_body(values), status=201 if is_new else 200))
