"""API of the site itself: what clients need to know before anybody signs in."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from feeds.content.polls import definition
from feeds.models import Kind, PostContent
from interactions.models import CommentContent
from socialsite.core import site
from socialsite.core.media import encoding
from socialsite.core.requests.request_budgets import READS
from socialsite.core.site import documents


class LimitsSerializer(serializers.Serializer[Any]):
    """The most of a text in characters, and of other things in their number, MB or seconds."""

    micro = serializers.IntegerField()
    article = serializers.IntegerField()
    title = serializers.IntegerField()
    note = serializers.IntegerField()
    comment = serializers.IntegerField()
    bio = serializers.IntegerField()
    images = serializers.IntegerField()
    image_mb = serializers.IntegerField()
    video_mb = serializers.IntegerField()
    video_seconds = serializers.IntegerField()
    poll_options = serializers.IntegerField()
    follows = serializers.IntegerField()


class FeaturesSerializer(serializers.Serializer[Any]):
    """What this site does, as its settings say."""

    videos = serializers.BooleanField()
    push = serializers.BooleanField()
    link_previews = serializers.BooleanField()


class SiteSerializer(serializers.Serializer[Any]):
    """The site. Texts are in the language of the request; they may be empty, as may `contact`."""

    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    contact = serializers.CharField(allow_blank=True)
    rules = serializers.CharField(allow_blank=True, help_text="Markdown")
    terms = serializers.IntegerField(
        help_text="the version of the terms that sign-up must accept; 0: nothing to accept"
    )
    sign_up = serializers.ChoiceField(choices=site.SignUp.values)
    question = serializers.CharField(
        allow_blank=True, help_text="to be answered as `reason` where `sign_up` is `approval`"
    )
    email_needed = serializers.BooleanField(help_text="whether sign-up needs an e-mail address")
    languages = serializers.ListField(child=serializers.CharField())
    limits = LimitsSerializer()
    features = FeaturesSerializer()
    version = serializers.CharField()


class OneSite(APIView):
    """The site."""

    permission_classes = (AllowAny,)
    takes = {"GET": READS}

    @extend_schema(responses={200: SiteSerializer})
    def get(self, request: Request) -> Response:
        """What the site is, whether people may sign up, and how much fits into what.

        Maxima of texts are in characters.
        """
        here = site.current()
        body = {
            "name": here.name,
            "description": here.description,
            "contact": here.contact,
            "rules": documents.current(here, documents.Kind.RULES).text,
            "terms": here.terms if here.terms_needed else 0,
            "sign_up": here.sign_up,
            "question": here.question,
            "email_needed": here.email_needed,
            "languages": [code for code, _ in settings.LANGUAGES],
            "limits": {
                "micro": here.limits.micro_max,
                "article": PostContent.TEXT_MAX[Kind.ARTICLE],
                "title": PostContent.TITLE_MAX,
                "note": PostContent.NOTE_MAX,
                "comment": CommentContent.TEXT_MAX,
                "bio": User.BIO_MAX,
                "images": PostContent.IMAGES_MAX,
                "image_mb": encoding.MAX_BYTES // 1024**2,
                "video_mb": here.limits.video_mb,
                "video_seconds": settings.VIDEO_SECONDS,
                "poll_options": definition.OPTIONS_MAX,
                "follows": here.limits.follow_max,
            },
            "features": {
                "videos": here.limits.videos,
                "push": bool(settings.VAPID_PRIVATE_KEY),
                "link_previews": here.limits.link_previews,
            },
            "version": settings.VERSION,
        }
        return Response(body)
