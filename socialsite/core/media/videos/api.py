"""`POST /api/v1/media/videos`: upload of one video, and how far its preparation is."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from socialsite.core.errors import InvalidInput, NotAuthenticated
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY
from socialsite.core.media.videos import queries, uploads
from socialsite.core.models import Video
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent


class VideoUploadSerializer(serializers.Serializer[Any]):
    """The form of an upload."""

    file = serializers.FileField(help_text="MP4, WebM or MOV, at most 100 MB; embedded: MP4")


class VideoSerializer(serializers.Serializer[Any]):
    """A video of a post; sides are in pixels, 0 until they are known."""

    id = serializers.CharField()
    url = serializers.CharField(allow_blank=True, help_text="MP4; empty until it is ready")
    poster = serializers.CharField(allow_blank=True, help_text="JPEG; empty until there is one")
    placeholder = serializers.CharField(
        allow_blank=True, help_text="a BlurHash of the poster, empty without one"
    )
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    seconds = serializers.FloatField()
    state = serializers.ChoiceField(choices=Video.State.choices)
    failure = serializers.CharField(allow_blank=True, help_text="why it failed, a stable name")


class OwnVideoSerializer(VideoSerializer):
    """A video as the person who uploaded it sees it."""

    progress = serializers.IntegerField(help_text="percent")
    detail = serializers.CharField(allow_blank=True, help_text="why it failed, in words")


def _owner(request: Request) -> int:
    if request.user.pk is None:
        raise NotAuthenticated
    return request.user.pk


def _show(request: Request, ident: int) -> dict[str, Any]:
    return {**queries.progress(_owner(request), ident)}


class Videos(APIView):
    """Upload a video, to use it by its id in a post."""

    parser_classes = [MultiPartParser]
    takes = {"POST": (budgets.VIDEO,)}

    @extend_schema(
        tags=["media"],
        operation_id="media_videos_upload",
        request={"multipart/form-data": VideoUploadSerializer},
        parameters=[IDEMPOTENCY_KEY],
        responses={201: OwnVideoSerializer, "4XX": ErrorSerializer, 503: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Store a video. It may be published at once; readers see it when it is ready.

        403 on a site without videos, 413 also at the end of the quota. 503 while the disk of the
        site is nearly full.
        """
        file = request.FILES.get("file")
        if file is None:
            raise InvalidInput(fields={"file": [_("Choose a video.")]})
        # Stored before the transaction of the Idempotency-Key begins: that takes long.
        upload = uploads.accept(_owner(request), file, file.size)
        file.seek(0)
        with uploads.no_orphans(upload):
            return self._store(request, upload)

    @idempotent(_show)
    def _store(self, request: Request, upload: uploads.Upload) -> Created:
        video = uploads.store(_owner(request), upload)
        return Created(video.pk, Response(_show(request, video.pk), status=201))


class OneVideo(APIView):
    """A video of one's own."""

    takes = {"GET": (budgets.POLL,)}

    @extend_schema(
        tags=["media"],
        responses={
            200: OwnVideoSerializer,
            400: ErrorSerializer,
            401: ErrorSerializer,
            404: ErrorSerializer,
        },
    )
    def get(self, request: Request, ident: str) -> Response:
        """Return a video that you uploaded, with the progress of its preparation."""
        return Response(_show(request, api.parse_id(ident)))
