"""API of the preview: an article as its page would show it."""

from typing import Any

from django.template.loader import render_to_string
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.request_auth.requests import PersonRequest
from feeds.cards.card import shown_image
from feeds.models import Kind, PostContent
from socialsite.core.http import api
from socialsite.core.http.serializer_fields import ShortListField, TextField
from socialsite.core.ids import MAX_ID
from socialsite.core.media import pictures
from socialsite.core.rate_limits import budgets
from socialsite.core.text import clean

Errors = api.ErrorSerializer


class NewPreviewSerializer(serializers.Serializer[Any]):
    """Input of POST preview."""

    content = TextField(
        allow_blank=True,
        max_length=PostContent.TEXT_MAX[Kind.ARTICLE],
        help_text="the text of an article, in Markdown",
    )
    images = ShortListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_ID),
        default=list,
        max_length=PostContent.IMAGES_MAX,
        help_text="ids of your own media that the text shows",
    )


class PreviewSerializer(serializers.Serializer[Any]):
    """A text as HTML."""

    html = serializers.CharField(help_text="the text as the page of the article has it")


class Preview(APIView):
    """How an article would look."""

    takes = {"POST": (budgets.PREVIEW,)}

    @extend_schema(
        request=NewPreviewSerializer,
        responses={200: PreviewSerializer, 400: Errors, 401: Errors, 413: Errors, 429: Errors},
    )
    def post(self, request: PersonRequest) -> Response:
        """Return a text in Markdown as safe HTML; nothing is stored."""
        values = api.read(NewPreviewSerializer, request.data)
        items = pictures.own(request.user.pk, values["images"])
        images = [shown_image(PostContent.image_of(item)) for item in items]
        context = {"content": clean(values["content"]), "images": images}
        return Response({"html": render_to_string("feeds/writing/_article.html", context)})
