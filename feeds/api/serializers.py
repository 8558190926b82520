"""API shapes of feeds."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from feeds.cards import repost_grouping
from feeds.cards.card import Card
from feeds.content.polls import definition
from feeds.models import KIND_MAX, VISIBILITY_MAX, Kind, PostContent, Visibility
from socialsite.core.http.serializer_fields import ShortDictField, ShortListField, TextField
from socialsite.core.ids import MAX_ID
from socialsite.core.media import video_links
from socialsite.core.media.videos.api import VideoSerializer
from socialsite.core.models import Media
from socialsite.core.text import one_line

# Values of an unsigned column on all databases.
VERSION_MAX = 2**31 - 1


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
    placeholder = serializers.CharField(
        allow_blank=True,
        help_text="a BlurHash to show until the picture is loaded, empty if it has transparency",
    )


class OptionSerializer(serializers.Serializer[Any]):
    """An option of a poll."""

    text = serializers.CharField()
    votes = serializers.IntegerField(
        allow_null=True,
        help_text="null until you voted or the poll is closed; never for its author",
    )


class PollSerializer(serializers.Serializer[Any]):
    """The poll of a post."""

    options = OptionSerializer(many=True)
    votes = serializers.IntegerField(help_text="number of people who voted")
    voted = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="my options, by their places from 0; empty if I did not vote",
    )
    multiple = serializers.BooleanField(help_text="one may choose several options")
    ends_at = serializers.CharField(help_text="UTC, YYYY-MM-DDTHH:MM:SS.mmmZ")
    closed = serializers.BooleanField(help_text="the end is past")


class LinkPreviewSerializer(serializers.Serializer[Any]):
    """The preview of the first address in a post; it comes a moment after the publication."""

    url = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    image = serializers.CharField(allow_blank=True, help_text="address of a picture of this site")
    placeholder = serializers.CharField(
        allow_blank=True, help_text="a BlurHash of the picture, empty if it has transparency"
    )


class NewPollSerializer(serializers.Serializer[Any]):
    """Input of a poll; the action checks the options and the end."""

    options = ShortListField(
        child=TextField(allow_blank=True, max_length=definition.OPTION_MAX, stored=one_line),
        max_length=definition.OPTIONS_MAX,
        help_text=f"{definition.OPTIONS_MIN} to {definition.OPTIONS_MAX} different texts",
    )
    multiple = serializers.BooleanField(default=False)
    ends_at = serializers.DateTimeField(
        default=None,
        allow_null=True,
        help_text="5 minutes to 30 days after the publication, with its time zone",
    )
    lasts = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=definition.SHORTEST // 1000,
        max_value=definition.LONGEST // 1000,
        help_text="instead of `ends_at`: seconds from the publication to the end",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the poll with its end in Unix ms."""
        end, lasts = attrs["ends_at"], attrs["lasts"]
        if end is not None and lasts is not None:
            raise serializers.ValidationError(_("Give either ends_at or lasts."))
        return {**attrs, "ends_at": None if end is None else round(end.timestamp() * 1000)}


class SourceSerializer(serializers.Serializer[Any]):
    """The original post of a repost; `body` builds the data, this is its schema."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    author = AuthorSerializer()
    title = serializers.CharField(allow_blank=True)
    note = serializers.CharField(
        allow_blank=True, help_text="if not empty: show this line, and the rest when it is unfolded"
    )
    content = serializers.CharField(allow_blank=True)
    sensitive = serializers.BooleanField(help_text="blur the pictures until the reader asks")
    tags = serializers.ListField(
        child=serializers.CharField(), help_text="names of the tags in `content`"
    )
    images = ImageSerializer(many=True)
    video_url = serializers.CharField(allow_blank=True, help_text="of a linked video")
    video = VideoSerializer(allow_null=True, help_text="an uploaded video")
    poll = PollSerializer(allow_null=True)
    link = LinkPreviewSerializer(allow_null=True)
    created_at = serializers.CharField(help_text="UTC, YYYY-MM-DDTHH:MM:SS.mmmZ")
    visibility = serializers.ChoiceField(choices=Visibility.values)
    version = serializers.IntegerField(help_text="1, and one more after each edit")
    edited_at = serializers.CharField(
        allow_null=True, help_text="of the last edit, as `created_at`; null until the first"
    )
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
    repeats = serializers.BooleanField(
        help_text="an earlier item of this page shows the same post: itself, or as the `ref` of a "
        "repost without a text; pages of the site leave this item out"
    )


class PostPageSerializer(serializers.Serializer[Any]):
    """A page of posts."""

    items = PostSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class VersionSerializer(serializers.Serializer[Any]):
    """The words of a post in one of its versions."""

    version = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    content = serializers.CharField(allow_blank=True)
    edited_at = serializers.CharField(
        allow_null=True, help_text="when it was written; null for the first version"
    )


class HistorySerializer(serializers.Serializer[Any]):
    """A page of versions, the present one first."""

    items = VersionSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class CommentedSerializer(serializers.Serializer[Any]):
    """The post that a comment belongs to."""

    id = serializers.CharField()
    author = AuthorSerializer()
    preview = serializers.CharField(
        allow_blank=True, help_text="its note, or the beginning of its title or text"
    )


class WrittenSerializer(serializers.Serializer[Any]):
    """A comment on the profile of its author."""

    id = serializers.CharField()
    content = serializers.CharField()
    created_at = serializers.DateTimeField()
    post = CommentedSerializer()


class EntrySerializer(serializers.Serializer[Any]):
    """A post or a comment; the other is null."""

    post = PostSerializer(allow_null=True)
    comment = WrittenSerializer(allow_null=True)


class EntryPageSerializer(serializers.Serializer[Any]):
    """A page of posts and comments, newest first."""

    items = EntrySerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class NewCountSerializer(serializers.Serializer[Any]):
    """The number of posts newer than the reader's read mark."""

    count = serializers.IntegerField(max_value=99)
    more = serializers.BooleanField(help_text="there are more than 99")


class NewPostSerializer(serializers.Serializer[Any]):
    """Input of POST posts; the action checks lengths by kind."""

    kind = serializers.CharField(default=Kind.MICRO.value, max_length=KIND_MAX)
    title = TextField(
        default="", allow_blank=True, max_length=PostContent.TITLE_MAX, stored=one_line
    )
    content = TextField(default="", allow_blank=True, max_length=max(PostContent.TEXT_MAX.values()))
    note = TextField(default="", allow_blank=True, max_length=PostContent.NOTE_MAX)
    sensitive = serializers.BooleanField(default=False)
    images = ShortListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_ID),
        default=list,
        max_length=PostContent.IMAGES_MAX,
        help_text="ids of your own media",
    )
    video_url = serializers.CharField(default="", allow_blank=True, max_length=video_links.URL_MAX)
    video = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=MAX_ID,
        help_text="id of your own video, instead of `video_url`",
    )
    poll = NewPollSerializer(default=None, allow_null=True)
    visibility = serializers.CharField(default=Visibility.PUBLIC.value, max_length=VISIBILITY_MAX)


class AudienceSerializer(serializers.Serializer[Any]):
    """The readers of a post; this is its schema."""

    visibility = serializers.ChoiceField(choices=Visibility.values)
    people = serializers.IntegerField(
        allow_null=True, help_text="number of people besides the author; null: everyone"
    )


class EditSerializer(serializers.Serializer[Any]):
    """Input of PATCH posts/{id}; fields that are left out stay as they are."""

    version = serializers.IntegerField(
        min_value=1, max_value=VERSION_MAX, help_text="the version that the edit is based on"
    )
    title = TextField(
        required=False, allow_blank=True, max_length=PostContent.TITLE_MAX, stored=one_line
    )
    content = TextField(
        required=False, allow_blank=True, max_length=max(PostContent.TEXT_MAX.values())
    )
    note = TextField(required=False, allow_blank=True, max_length=PostContent.NOTE_MAX)
    sensitive = serializers.BooleanField(required=False)
    images = ShortListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_ID),
        required=False,
        max_length=PostContent.IMAGES_MAX,
        help_text="ids of all pictures in their new order; those that are new are your own media",
    )
    alts = ShortDictField(
        child=TextField(allow_blank=True, max_length=Media.ALT_MAX, stored=one_line),
        required=False,
        max_length=PostContent.IMAGES_MAX,
        help_text="new descriptions of pictures of the post, by id",
    )
    visibility = serializers.CharField(
        required=False, max_length=VISIBILITY_MAX, help_text="only a narrower one"
    )


_HIDDEN = ("position", "mine", "prose")
_HIDDEN_OF_SOURCE = (*_HIDDEN, "ref", "ref_gone")


def bodies(cards: Sequence[Card]) -> list[dict[str, Any]]:
    """Return a page of posts as JSON for the API."""
    repeats = repost_grouping.repeats(cards)
    return [body(card, again) for card, again in zip(cards, repeats, strict=True)]


def body(card: Card, repeats: bool = False) -> dict[str, Any]:
    """Return a card's post as JSON for the API."""
    shown = _without(card, _HIDDEN)
    shown["repeats"] = repeats
    source = card["ref"]
    if source is not None:
        shown["ref"] = _without(source, _HIDDEN_OF_SOURCE)
    return shown


def _without(card: Card, names: Iterable[str]) -> dict[str, Any]:
    # Six times as fast as to choose the others.
    shown = dict(card)
    for name in names:
        del shown[name]
    return shown
