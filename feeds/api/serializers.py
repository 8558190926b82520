"""API shapes of feeds."""

from typing import Any

from rest_framework import serializers

from feeds.home.hydration import Card
from feeds.models import KIND_MAX, VISIBILITY_MAX, Kind, PostContent, Visibility
from socialsite.core.http.serializer_fields import ShortListField
from socialsite.core.ids import MAX_ID
from socialsite.core.media import video_links


class AuthorSerializer(serializers.Serializer[Any]):
    """A person in a list."""

    id = serializers.CharField()
    username = serializers.CharField()
    nickname = serializers.CharField()
    avatar = serializers.CharField(allow_blank=True)


class ImageSerializer(serializers.Serializer[Any]):
    """One picture of a post."""

    id = serializers.CharField()
    url = serializers.CharField()
    thumb = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    alt = serializers.CharField(allow_blank=True)


class SourceSerializer(serializers.Serializer[Any]):
    """The original post of a repost; `body` builds the data, this is its schema."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    author = AuthorSerializer()
    title = serializers.CharField(allow_blank=True)
    content = serializers.CharField(allow_blank=True)
    images = ImageSerializer(many=True)
    video_url = serializers.CharField(allow_blank=True)
    created_at = serializers.CharField(help_text="UTC, YYYY-MM-DDTHH:MM:SS.mmmZ")
    visibility = serializers.ChoiceField(choices=Visibility.values)
    like_count = serializers.IntegerField()
    comment_count = serializers.IntegerField()
    repost_count = serializers.IntegerField()
    bookmark_count = serializers.IntegerField()
    liked = serializers.BooleanField()
    bookmarked = serializers.BooleanField(help_text="by me; nobody else can see it")
    reposted = serializers.BooleanField(help_text="by me, as a plain repost")


class PostSerializer(SourceSerializer):
    """A post."""

    ref = SourceSerializer(
        allow_null=True, help_text="the post that a repost shows, if you may see it"
    )
    ref_gone = serializers.BooleanField(
        help_text="a repost whose post is deleted or hidden from you; `ref` is null then"
    )


class PostPageSerializer(serializers.Serializer[Any]):
    """A page of posts."""

    items = PostSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class NewCountSerializer(serializers.Serializer[Any]):
    """The number of posts newer than the reader's read mark."""

    count = serializers.IntegerField(max_value=99)
    more = serializers.BooleanField(help_text="there are more than 99")


class NewPostSerializer(serializers.Serializer[Any]):
    """Input of POST posts; the action checks lengths by kind."""

    kind = serializers.CharField(default=Kind.MICRO.value, max_length=KIND_MAX)
    title = serializers.CharField(default="", allow_blank=True, max_length=PostContent.TITLE_MAX)
    content = serializers.CharField(
        default="", allow_blank=True, max_length=max(PostContent.TEXT_MAX.values())
    )
    images = ShortListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_ID),
        default=list,
        max_length=PostContent.IMAGES_MAX,
        help_text="ids of your own media",
    )
    video_url = serializers.CharField(default="", allow_blank=True, max_length=video_links.URL_MAX)
    visibility = serializers.CharField(default=Visibility.PUBLIC.value, max_length=VISIBILITY_MAX)


_HIDDEN = {"position", "mine"}
_HIDDEN_OF_SOURCE = {*_HIDDEN, "ref", "ref_gone"}


def body(card: Card) -> dict[str, Any]:
    """Return a card's post as JSON for the API."""
    shown: dict[str, Any] = {key: value for key, value in card.items() if key not in _HIDDEN}
    source = card["ref"]
    if source is not None:
        shown["ref"] = {k: value for k, value in source.items() if k not in _HIDDEN_OF_SOURCE}
    return shown
