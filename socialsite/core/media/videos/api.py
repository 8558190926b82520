"""Upload of a video, at once or in parts, and how far its preparation is."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from socialsite.core.errors import InvalidInput, NotAuthenticated
from socialsite.core.http import api
from socialsite.core.http.api import ErrorSerializer
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY
from socialsite.core.http.serializer_fields import TextField
from socialsite.core.media.videos import captions, parts, queries, uploads
from socialsite.core.models import Media, Video
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent
from socialsite.core.text import one_line

# The names of the protocol tus for the same things.
PART, OFFSET = "application/offset+octet-stream", "Upload-Offset"
VTT = "text/vtt"
REFUSED = {400: ErrorSerializer, 401: ErrorSerializer, 404: ErrorSerializer}


class VideoUploadSerializer(serializers.Serializer[Any]):
    """The form of an upload."""

    file = serializers.FileField(help_text="MP4, WebM or MOV, at most 100 MB; embedded: MP4")


class CaptionsSerializer(serializers.Serializer[Any]):
    """The captions of a video in one language."""

    language = serializers.CharField(help_text="BCP 47, in lower case")
    name = serializers.CharField(help_text="the language in its own words")
    url = serializers.CharField(help_text="WebVTT")


class VideoSerializer(serializers.Serializer[Any]):
    """A video of a post; sides are in pixels, 0 until they are known."""

    id = serializers.CharField()
    url = serializers.CharField(allow_blank=True, help_text="MP4; empty until it is ready")
    poster = serializers.CharField(allow_blank=True, help_text="JPEG; empty until there is one")
    placeholder = serializers.CharField(
        allow_blank=True, help_text="a BlurHash of the poster, empty without one"
    )
    alt = serializers.CharField(allow_blank=True, help_text="a description in words")
    captions = CaptionsSerializer(many=True)
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    seconds = serializers.FloatField()
    state = serializers.ChoiceField(choices=Video.State.choices)
    failure = serializers.CharField(allow_blank=True, help_text="why it failed, a stable name")


class OwnVideoSerializer(VideoSerializer):
    """A video as the person who uploaded it sees it."""

    progress = serializers.IntegerField(help_text="percent")
    detail = serializers.CharField(allow_blank=True, help_text="why it failed, in words")


class NewUploadSerializer(serializers.Serializer[Any]):
    """Input of POST media/uploads."""

    size = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="bytes of the whole file"
    )


class UploadInPartsSerializer(serializers.Serializer[Any]):
    """A file that arrives in parts; sizes in bytes."""

    id = serializers.CharField()
    size = serializers.IntegerField(help_text="of the whole file")
    received = serializers.IntegerField(help_text="the place of the next part")
    part = serializers.IntegerField(help_text="the largest part")
    video = OwnVideoSerializer(allow_null=True, help_text="null until all parts arrived")


class VideoTextSerializer(serializers.Serializer[Any]):
    """Input of PATCH media/videos/{id}."""

    alt = TextField(allow_blank=True, max_length=Media.ALT_MAX, stored=one_line)


class _BytesParser(BaseParser):
    """The bytes of a body, whose number `RequestGuard` has bounded."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """Return the body."""
        return bytes(stream.read())


class PartParser(_BytesParser):
    """A part of a file."""

    media_type = PART


class CaptionsParser(_BytesParser):
    """A file of captions."""

    media_type = VTT


def _bytes_of(request: Request) -> bytes:
    data = request.data
    return data if isinstance(data, bytes) else b""  # an empty body is not parsed


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

    takes = {"GET": (budgets.POLL,), "PATCH": (budgets.EDIT,)}

    @extend_schema(
        tags=["media"],
        request=VideoTextSerializer,
        responses={200: OwnVideoSerializer, **REFUSED},
    )
    def patch(self, request: Request, ident: str) -> Response:
        """Describe a video of yours in words, also after it was published."""
        data, video = api.read(VideoTextSerializer, request.data), api.parse_id(ident)
        captions.describe(_owner(request), video, data["alt"])
        return Response(_show(request, video))

    @extend_schema(
        tags=["media"],
        responses={200: OwnVideoSerializer, **REFUSED},
    )
    def get(self, request: Request, ident: str) -> Response:
        """Return a video that you uploaded, with the progress of its preparation."""
        return Response(_show(request, api.parse_id(ident)))


class VideoCaptions(APIView):
    """The captions of a video of one's own, in one language."""

    parser_classes = [CaptionsParser]
    takes = {"PUT": (budgets.EDIT,), "DELETE": (budgets.EDIT,)}

    @extend_schema(
        tags=["media"],
        operation_id="media_captions_put",
        request={VTT: str},
        responses={200: OwnVideoSerializer, **REFUSED, 413: ErrorSerializer, 415: ErrorSerializer},
    )
    def put(self, request: Request, ident: str, language: str) -> Response:
        """Store a WebVTT file of at most 200 kB, in place of the one of this language.

        A video may have captions in four languages. Styles, regions and comments are left out.
        """
        owner, video = _owner(request), api.parse_id(ident)
        captions.put(owner, video, language, _bytes_of(request))
        return Response(_show(request, video))

    @extend_schema(
        tags=["media"],
        operation_id="media_captions_delete",
        request=None,
        responses={200: OwnVideoSerializer, **REFUSED},
    )
    def delete(self, request: Request, ident: str, language: str) -> Response:
        """Remove the captions of a language, if there are any."""
        owner, video = _owner(request), api.parse_id(ident)
        captions.remove(owner, video, language)
        return Response(_show(request, video))


class Uploads(APIView):
    """Upload a video in parts."""

    takes = {"POST": (budgets.VIDEO,)}

    @extend_schema(
        tags=["media"],
        operation_id="media_uploads_begin",
        request=NewUploadSerializer,
        responses={201: UploadInPartsSerializer, "4XX": ErrorSerializer, 503: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Announce a file. Its parts follow by PATCH; an upload without parts for a day ends.

        403 on a site without videos, 409 with five unfinished uploads, 413 for a file that is too
        large and at the end of the quota. 503 while the disk of the site is nearly full.
        """
        data = api.read(NewUploadSerializer, request.data)
        return Response(parts.begin(_owner(request), data["size"]), status=201)


def _offset(request: Request) -> int:
    """Return the place of a part. Raises InvalidInput."""
    try:
        return api.parse_id(request.headers.get(OFFSET, ""))
    except InvalidInput:
        raise InvalidInput(fields={OFFSET: [_("This is not a number of bytes.")]}) from None


class OneUpload(APIView):
    """An upload in parts of one's own."""

    parser_classes = [PartParser]
    takes = {
        "GET": (budgets.POLL,),
        "PATCH": (budgets.VIDEO_PART,),
        "DELETE": (budgets.VIDEO_PART,),
    }

    @extend_schema(
        tags=["media"],
        operation_id="media_uploads_read",
        responses={200: UploadInPartsSerializer, **REFUSED},
    )
    def get(self, request: Request, ident: str) -> Response:
        """Return how many bytes arrived: where to go on after a broken connection."""
        return Response(parts.progress(_owner(request), api.parse_id(ident)))

    @extend_schema(
        tags=["media"],
        operation_id="media_uploads_part",
        request={PART: bytes},
        parameters=[
            OpenApiParameter(
                OFFSET, int, OpenApiParameter.HEADER, required=True, description="its place"
            )
        ],
        responses={
            200: UploadInPartsSerializer,
            **REFUSED,
            409: ErrorSerializer,
            413: ErrorSerializer,
            415: ErrorSerializer,
            503: ErrorSerializer,
        },
    )
    def patch(self, request: Request, ident: str) -> Response:
        """Store the next part. The last one makes the video, as POST media/videos does.

        409, code 29, for another place than `received`: read the upload, and go on from there. An
        empty part at the end answers again for a client that missed the answer. 415 for a file
        that is no video; the upload is gone then.
        """
        owner, upload = _owner(request), api.parse_id(ident)
        return Response(parts.add(owner, upload, _offset(request), _bytes_of(request)))

    @extend_schema(
        tags=["media"],
        operation_id="media_uploads_cancel",
        responses={204: None, **REFUSED},
    )
    def delete(self, request: Request, ident: str) -> Response:
        """Forget the upload and what arrived of it; a finished one keeps its video."""
        parts.drop(_owner(request), api.parse_id(ident))
        return Response(status=204)
