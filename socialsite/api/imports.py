"""API of the imports of one's own data."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from socialsite.core.errors import InvalidInput
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer as Errors
from socialsite.core.imports import jobs
from socialsite.core.models import Import
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS
from socialsite.core.times import iso


class UploadedImportSerializer(serializers.Serializer[Any]):
    """The form of an upload."""

    file = serializers.FileField(
        help_text="CSV, at most 4 MB and 100,000 rows; or, of posts, ZIP with at most 20,000 posts"
    )
    kind = serializers.ChoiceField(choices=Import.Kind.choices)


class ImportIdSerializer(serializers.Serializer[Any]):
    """The import that goes on."""

    id = serializers.CharField()


class ImportedRowSerializer(serializers.Serializer[Any]):
    """A row as a preview shows it."""

    name = serializers.CharField()
    error = serializers.CharField(help_text="empty if it can come")


class ImportPreviewSerializer(serializers.Serializer[Any]):
    """The contents of a file; only `error` if it cannot be read."""

    rows = serializers.IntegerField(required=False)
    found = serializers.IntegerField(required=False)
    there_already = serializers.IntegerField(
        required=False, help_text="rows that would change nothing"
    )
    problems = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="error → rows"
    )
    partly = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="PICTURE, VIDEO or POLL → posts that come without it",
    )
    first = ImportedRowSerializer(many=True, required=False)
    error = serializers.CharField(
        required=False,
        help_text="UNREADABLE, NO_POSTS, TOO_MANY_ROWS, TOO_MANY_FILES, ACCOUNT_CLOSED or"
        " SUSPENDED",
    )


class FailedRowSerializer(serializers.Serializer[Any]):
    """A row that could not be imported, or not wholly."""

    row = serializers.IntegerField(help_text="from 1, without the header and empty lines")
    name = serializers.CharField()
    error = serializers.CharField(
        help_text="of people: USER_NOT_FOUND, OTHER_SITE, INVALID_NAME, BLOCKED_BY_YOU,"
        " SELF_RELATION or FOLLOW_LIMIT; of posts: INVALID_TIME, INVALID_POST, TOO_LONG, REPLY,"
        " REPOST, OTHER_KIND, NO_SPACE, PICTURE, VIDEO or POLL"
    )
    made = serializers.BooleanField(help_text="a post was made, without what `error` names")


class ImportSerializer(serializers.Serializer[Any]):
    """How far an import is."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=Import.Kind.choices)
    state = serializers.ChoiceField(choices=Import.State.choices)
    progress = serializers.IntegerField(help_text="per cent of this state")
    preview = ImportPreviewSerializer(help_text="empty while the file is being checked")
    done = serializers.IntegerField(help_text="rows that changed something and are not undone")
    failed = FailedRowSerializer(many=True, help_text="the first 1000 of them")
    created_at = serializers.DateTimeField()


class Imports(APIView):
    """Uploads of files to import."""

    parser_classes = [MultiPartParser]
    takes = {"POST": (budgets.IMPORT,)}

    @extend_schema(
        request={"multipart/form-data": UploadedImportSerializer},
        responses={202: ImportIdSerializer, "4XX": Errors, 503: Errors},
    )
    def post(self, request: PersonRequest) -> Response:
        """Upload a file; it is checked, and nothing else changes before `start`.

        An earlier file that was not started is dropped. 409 for more than 20
        imports in 30 days, and while another one runs.
        """
        kind = request.POST.get("kind", "")
        if kind not in Import.Kind.values:
            raise InvalidInput(fields={"kind": [_("Choose what the file has.")]})
        upload = request.FILES.get("file")
        if upload is None:
            raise InvalidInput(fields={"file": [_("Choose a file.")]})
        row = jobs.request(request.user.pk, kind, upload, upload.size or 0)
        return Response({"id": str(row.pk)}, status=202)


class OneImport(APIView):
    """An import."""

    takes = {"GET": READS}

    @extend_schema(
        responses={200: ImportSerializer, 400: Errors, 401: Errors, 404: Errors, 429: Errors}
    )
    def get(self, request: PersonRequest, import_id: str) -> Response:
        """Return how far an import of mine is."""
        row = jobs.own(request.user.pk, api.parse_id(import_id))
        return Response(
            {
                "id": str(row.pk),
                "kind": row.kind,
                "state": row.state,
                "progress": row.progress,
                "preview": row.preview,
                "done": row.made,
                "failed": jobs.failures(row),
                "created_at": iso(row.created_at),
            }
        )


class Start(APIView):
    """The start of an import."""

    takes = {"POST": (budgets.IMPORT,)}

    @extend_schema(request=None, responses={202: ImportIdSerializer, "4XX": Errors, 503: Errors})
    def post(self, request: PersonRequest, import_id: str) -> Response:
        """Start an import that was previewed; a repeat changes nothing."""
        ident = api.parse_id(import_id)
        jobs.begin(request.user.pk, ident)
        return Response({"id": str(ident)}, status=202)


class Undo(APIView):
    """The undo of an import."""

    takes = {"POST": (budgets.IMPORT,)}

    @extend_schema(request=None, responses={202: ImportIdSerializer, "4XX": Errors, 503: Errors})
    def post(self, request: PersonRequest, import_id: str) -> Response:
        """End what an import made and what still stands; also while it runs.

        Follows that an imported block ended stay ended. Posts that were edited since go too.
        """
        ident = api.parse_id(import_id)
        jobs.undo(request.user.pk, ident)
        return Response({"id": str(ident)}, status=202)
