"""`POST /api/v1/media`: upload of one picture."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from socialsite.core.errors import InvalidInput, NotAuthenticated, NotFound
from socialsite.core.http.api import ErrorSerializer
from socialsite.core.http.openapi_parameters import IDEMPOTENCY_KEY
from socialsite.core.media import encoding, pictures
from socialsite.core.models import Media
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.idempotency import Created, idempotent


class UploadSerializer(serializers.Serializer[Any]):
    """The form of an upload."""

    file = serializers.FileField(
        help_text="JPEG, PNG, WEBP or GIF, at most 10 MB, 16,384 pixels on each side and"
        " 25 megapixels (WEBP and CMYK: 8)"
    )
    alt = serializers.CharField(
        required=False, max_length=Media.ALT_MAX, help_text="description of the picture"
    )


class MediaSerializer(serializers.Serializer[Any]):
    """A stored picture; `width` and `height` are those behind `url`, in pixels."""

    id = serializers.CharField()
    url = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    thumb = serializers.CharField(help_text="address of the thumbnail")
    alt = serializers.CharField()
    placeholder = serializers.CharField(
        help_text="a BlurHash to show until the picture is loaded, empty if it has transparency"
    )
    animated = serializers.BooleanField(
        help_text="the file is an animation, of which only the first frame is stored"
    )


def shape(item: Media) -> dict[str, Any]:
    """Return a picture as JSON for the API."""
    return {
        "id": str(item.pk),
        "url": pictures.url_of(item.name),
        "width": item.width,
        "height": item.height,
        "thumb": pictures.url_of(item.thumb_name),
        "alt": item.alt,
        "placeholder": item.placeholder,
    }


def _show(request: Request, ident: int) -> dict[str, Any]:
    """Return one of the reader's own pictures; raises NotFound if the sweep removed it."""
    found = Media.objects.filter(owner_id=_owner(request), pk=ident).first()
    if found is None:
        raise NotFound
    return shape(found)


def _owner(request: Request) -> int:
    if request.user.pk is None:
        raise NotAuthenticated
    return request.user.pk


class MediaView(APIView):
    """Upload a picture, to use it by its id in a post."""

    parser_classes = [MultiPartParser]
    takes = {"POST": (budgets.UPLOAD,)}

    @extend_schema(
        tags=["media"],
        operation_id="media_upload",
        request={"multipart/form-data": UploadSerializer},
        parameters=[IDEMPOTENCY_KEY],
        responses={201: MediaSerializer, "4XX": ErrorSerializer, 503: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Check, re-encode and store a picture.

        413 also at the end of the quota, which is smaller for a new account. 503 while the disk of
        the site is nearly full, or too many other pictures wait to be decoded.
        """
        file = request.FILES.get("file")
        if file is None:
            raise InvalidInput(fields={"file": [_("Choose a picture.")]})
        alt = pictures.clean_alt(request.POST.get("alt", ""))
        pictures.check_space(_owner(request))
        # Decoded before the transaction of the Idempotency-Key begins: decoding takes long.
        picture = encoding.encode(file, _owner(request))
        file.seek(0)
        with pictures.no_orphans(picture):
            answer = self._store(request, picture, alt)
        if answer.status_code == status.HTTP_201_CREATED:  # a repeat may find the picture gone
            answer.data["animated"] = picture.is_animated
        return answer

    @idempotent(_show)
    def _store(self, request: Request, picture: encoding.Picture, alt: str) -> Created:
        item = pictures.store(_owner(request), picture, alt)
        return Created(item.pk, Response(shape(item), status=201))
