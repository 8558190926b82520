"""JSON shapes of interactions. Bodies are plain dicts; these classes are their schema."""

from typing import Any

from rest_framework import serializers

from feeds.actions import REPOST_MAX
from feeds.api.serializers import VERSION_MAX, AuthorSerializer
from interactions.kinds import CHOICES, CHOOSABLE, NAMES
from interactions.models import CommentContent, Reason, Report
from interactions.queries import CommentCard, Item
from socialsite.core.client import web_push
from socialsite.core.http.serializer_fields import ShortListField


class LikeSerializer(serializers.Serializer[Any]):
    """Whether I like it now, and how many people do."""

    liked = serializers.BooleanField()
    like_count = serializers.IntegerField()


class BookmarkSerializer(serializers.Serializer[Any]):
    """Whether I bookmark the post now, and how many people do."""

    bookmarked = serializers.BooleanField()
    bookmark_count = serializers.IntegerField()


class NewRepostSerializer(serializers.Serializer[Any]):
    """Input of POST posts/{id}/repost; the action checks the length."""

    content = serializers.CharField(
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text=f"at most {REPOST_MAX} characters",
    )


class ReportSerializer(serializers.Serializer[Any]):
    """A reported object."""

    type = serializers.ChoiceField(choices=["post", "comment", "user"])
    id = serializers.CharField()
    reason = serializers.ChoiceField(choices=Reason.choices)


class NewReportSerializer(ReportSerializer):
    """Input of POST reports; the action checks the length."""

    words = serializers.CharField(
        default="",
        allow_blank=True,
        trim_whitespace=False,
        help_text=f"at most {Report.WORDS_MAX} characters; needed for the reason `other`",
    )


class CommentSerializer(serializers.Serializer[Any]):
    """A comment; a tombstone has no author and no content."""

    id = serializers.CharField()
    root_id = serializers.CharField(allow_null=True, help_text="null: a comment on the post itself")
    parent_id = serializers.CharField(allow_null=True, help_text="the comment this one answers")
    author = AuthorSerializer(allow_null=True)
    content = serializers.CharField(allow_blank=True)
    created_at = serializers.CharField(help_text="UTC, YYYY-MM-DDTHH:MM:SS.mmmZ")
    version = serializers.IntegerField(help_text="1, and one more after each edit")
    edited_at = serializers.CharField(
        allow_null=True, help_text="of the last edit, as `created_at`; null until the first"
    )
    like_count = serializers.IntegerField()
    reply_count = serializers.IntegerField(
        help_text="replies you may see: for a root its whole thread, for a reply its direct replies"
    )
    liked = serializers.BooleanField()
    pinned = serializers.BooleanField(help_text="by the post's author")
    author_liked = serializers.BooleanField(help_text="the post's author likes it")
    author_replied = serializers.BooleanField(help_text="the post's author answered it")
    deleted = serializers.BooleanField()


class PinSerializer(serializers.Serializer[Any]):
    """Whether the comment is pinned now."""

    pinned = serializers.BooleanField()


class CommentSettingsSerializer(serializers.Serializer[Any]):
    """The comment settings of a post; the action checks them."""

    status = serializers.CharField(
        help_text="open; closed: no new comments; featured: shows only what the author pinned or"
        " wrote, and to each reader their own; the author sees all"
    )


class CommentPageSerializer(serializers.Serializer[Any]):
    """A page of comments."""

    items = CommentSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class NewCommentSerializer(serializers.Serializer[Any]):
    """Input of POST posts/{id}/comments; the action checks the text."""

    content = serializers.CharField(
        allow_blank=True,
        trim_whitespace=False,
        help_text=f"1 to {CommentContent.TEXT_MAX} characters",
    )
    parent = serializers.CharField(  # type: ignore[assignment]  # a field may be named so
        required=False, allow_null=True, help_text="id of the comment this one answers"
    )


class EditCommentSerializer(serializers.Serializer[Any]):
    """Input of PATCH comments/{id}; the action checks the text."""

    content = serializers.CharField(
        allow_blank=True,
        trim_whitespace=False,
        help_text=f"1 to {CommentContent.TEXT_MAX} characters",
    )
    version = serializers.IntegerField(
        min_value=1, max_value=VERSION_MAX, help_text="the version that the edit is based on"
    )


_PAGES_ONLY = ("mine", "answers")
_AUTHOR = ("id", "username", "nickname", "avatar")


def body(card: CommentCard) -> dict[str, Any]:
    """Return a comment as JSON for the API."""
    shown: dict[str, Any] = {key: value for key, value in card.items() if key not in _PAGES_ONLY}
    if card["author"] is not None:
        shown["author"] = {key: card["author"][key] for key in _AUTHOR}
    return shown


# --- notifications ------------------------------------------------------------------------------
class NotificationSubjectSerializer(serializers.Serializer[Any]):
    """The object that it concerns; for the type user it is the reader."""

    type = serializers.ChoiceField(choices=["post", "comment", "user"])
    id = serializers.CharField()
    preview = serializers.CharField(allow_blank=True, help_text="the beginning of its text")


class NotificationSerializer(serializers.Serializer[Any]):
    """Actions concerning one subject of mine, by one person or many."""

    id = serializers.CharField()
    kind = serializers.ChoiceField(choices=list(NAMES))
    actors = AuthorSerializer(many=True, help_text="at most 3, the newest first")
    actor_count = serializers.IntegerField(
        help_text="number of all actors; 0 for moderation and one's own poll"
    )
    subject = NotificationSubjectSerializer()
    created_at = serializers.CharField(help_text="of the newest actor, YYYY-MM-DDTHH:MM:SS.mmmZ")
    read = serializers.BooleanField()
    reason = serializers.CharField(
        allow_blank=True,
        help_text="reason of a `moderation`; `acted`, `dismissed` or `gone` of a `report`",
    )


class NotificationPageSerializer(serializers.Serializer[Any]):
    """A page of notifications."""

    items = NotificationSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="cursor of the next page")


class ReadSerializer(serializers.Serializer[Any]):
    """Input of POST notifications/read; without parameters all are marked."""

    until = serializers.CharField(required=False, help_text="created_at of the newest one shown")
    ids = ShortListField(child=serializers.CharField(), required=False, max_length=100)
    kind = serializers.ChoiceField(choices=list(NAMES), required=False)


class UnreadSerializer(serializers.Serializer[Any]):
    """The number of unread notifications."""

    count = serializers.IntegerField(help_text="at most 99")
    more = serializers.BooleanField()


PreferencesSerializer = type(
    "PreferencesSerializer",
    (serializers.Serializer,),
    {
        "__doc__": "Whose doings I hear of, by kind.",
        **{name: serializers.ChoiceField(choices=list(CHOICES)) for name in CHOOSABLE},
    },
)


class _KeysSerializer(serializers.Serializer[Any]):
    p256dh = serializers.CharField(max_length=web_push.P256DH_MAX, help_text="base64url, 65 bytes")
    auth = serializers.CharField(max_length=web_push.AUTH_MAX, help_text="base64url, 16 bytes")


class SubscriptionSerializer(serializers.Serializer[Any]):
    """Input of POST me/push: `PushSubscription.toJSON()` of a browser."""

    endpoint = serializers.CharField(
        max_length=web_push.ENDPOINT_MAX, help_text="https address of a push service"
    )
    keys = _KeysSerializer()
    replaces = serializers.CharField(
        required=False,
        max_length=web_push.ENDPOINT_MAX,
        help_text="the endpoint that the browser replaced; refused if it is not of this device",
    )


KINDS_FIELD = type(
    "PushKindsSerializer",
    (serializers.Serializer,),
    {
        "__doc__": "Whether each kind of notification is pushed.",
        **{name: serializers.BooleanField(required=False) for name in CHOOSABLE},
    },
)


class PushedKindsSerializer(serializers.Serializer[Any]):
    """Input of PATCH me/push."""

    kinds = KINDS_FIELD()


class PushDeviceSerializer(serializers.Serializer[Any]):
    """A device that receives pushes."""

    client = serializers.CharField(help_text="as in auth/devices")
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    current = serializers.BooleanField(help_text="true for the requesting device")


class PushSerializer(serializers.Serializer[Any]):
    """Pushes of a person."""

    public_key = serializers.CharField(
        allow_null=True, help_text="applicationServerKey, base64url; null without pushes"
    )
    devices = PushDeviceSerializer(many=True)
    kinds = KINDS_FIELD()


def notification_body(item: Item) -> dict[str, Any]:
    """Return a notification as JSON for the API."""
    return {key: value for key, value in item.items() if key != "post_id"}
