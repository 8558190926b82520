"""API of the archives of one's own data."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.authentication import signed_in
from accounts.request_auth.requests import PersonRequest
from socialsite.core.exports import jobs
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.models import Export
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS
from socialsite.core.times import iso
from socialsite.pages import exports as pages


class ExportIdSerializer(serializers.Serializer[Any]):
    """The archive that is being made."""

    id = serializers.CharField()


class ExportSerializer(serializers.Serializer[Any]):
    """How far an archive is."""

    id = serializers.CharField()
    state = serializers.ChoiceField(choices=Export.State.choices)
    progress = serializers.IntegerField(help_text="per cent")
    url = serializers.CharField(
        allow_null=True, help_text="where the file is, once it is ready; needs a fresh log-in"
    )
    size = serializers.IntegerField(help_text="bytes")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="when the file is deleted")


class Exports(APIView):
    """Requests of archives."""

    takes = {"POST": (budgets.EXPORT,)}

    @extend_schema(
        request=None,
        responses={202: ExportIdSerializer, 401: Errors, 429: Errors, 503: Errors},
    )
    def post(self, request: PersonRequest) -> Response:
        """Ask for an archive of all my data; an older archive is deleted.

        While one is being made, a repeat returns the same.
        """
        return Response({"id": str(jobs.request(request.user.pk).pk)}, status=202)


class OneExport(APIView):
    """An archive."""

    takes = {"GET": READS}

    @extend_schema(
        responses={200: ExportSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors}
    )
    def get(self, request: PersonRequest, export_id: str) -> Response:
        """Return how far an archive of mine is."""
        row = pages.own(request.user.pk, export_id)
        is_ready = row.state == Export.State.READY
        path = request.path.rstrip("/")
        return Response(
            {
                "id": str(row.pk),
                "state": row.state,
                "progress": row.progress,
                "url": f"{path}/file" if is_ready else None,
                "size": row.size,
                "created_at": iso(row.created_at),
                "expires_at": iso(jobs.expires_at(row)) if is_ready else None,
            }
        )


class ExportFile(APIView):
    """The file of an archive."""

    takes = {"GET": (budgets.EXPORT_FILE,)}

    @extend_schema(
        responses={
            (200, "application/zip"): OpenApiTypes.BINARY,
            400: Errors,
            401: Errors,
            403: Errors,
            404: Errors,
            429: Errors,
        }
    )
    def get(self, request: Request, export_id: str) -> Any:
        """Return the ZIP file; code 41 unless the device signed in within 15 minutes."""
        user, principal = signed_in(request)
        return pages.file_of(request._request, user.pk, principal.client, export_id)
