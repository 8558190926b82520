"""Posts, their words, versions and pictures; the authors that staff recommend.

`Post` is an author's outbox: an index row in which only `is_deleted`, `is_removed` and `visibility`
ever change. The text is in `PostContent`, its former versions are in `PostVersion`.
"""

from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy

from feeds.models.keys import user_key
from socialsite.core.ids import new_id
from socialsite.core.media import video_links
from socialsite.core.models import Media
from socialsite.core.text.cuts import shortened

KIND_MAX, VISIBILITY_MAX = 8, 9


class Kind(models.TextChoices):
    """The kind of a post."""

    MICRO = "micro"
    ARTICLE = "article"
    VIDEO = "video"
    REPOST = "repost"


class Visibility(models.TextChoices):
    """The audience of a post, besides its author: the only list of the levels, the widest first.

    `feeds.visibility` decides by them; pages and the API show and accept them. A quiet post is
    public, but no search, tag or recommendation leads to it. A post for MENTIONED is for the people
    whom it named when it got that audience (`PostAudience`), one for SELF is for nobody else.
    """

    PUBLIC = "public"
    QUIET = "quiet"
    FOLLOWERS = "followers"
    MENTIONED = "mentioned"
    SELF = "self"


# Everybody may see posts with these audiences; those with the others only the listed people.
OPEN: tuple[str, ...] = (Visibility.PUBLIC, Visibility.QUIET)
NAMED: tuple[str, ...] = (Visibility.MENTIONED, Visibility.SELF)


class Mode(models.IntegerChoices):
    """The recipients of the push; fixed at publish, even if the author gains followers."""

    ALL = 0
    ACTIVE = 1
    NONE = 2
    # To nobody, and nobody is notified: the post came from elsewhere, with its time.
    IMPORTED = 3


class PostQuerySet(models.QuerySet["Post"]):
    """Composable filters over posts."""

    def alive(self) -> "PostQuerySet":
        """Exclude deleted and removed posts, and posts of banned or closed accounts."""
        return self.filter(
            is_deleted=False,
            is_removed=False,
            author__banned_at__isnull=True,
            author__deleted_at__isnull=True,
        )

    def newest_first(self) -> "PostQuerySet":
        """Sort in feed order: (position, id) descending."""
        return self.order_by("-position", "-id")


class Post(models.Model):
    """The index row of one post. (position, id) is its place in every feed."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    author = user_key()
    kind = models.CharField(max_length=KIND_MAX, choices=Kind.choices, default=Kind.MICRO)
    # The original of a repost: never a repost itself.
    ref_post = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    visibility = models.CharField(
        max_length=VISIBILITY_MAX, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    # Publish time by the database's clock, Unix ms.
    position = models.BigIntegerField()
    is_deleted = models.BooleanField(default=False)
    # Staff deleted it, and may restore it: it stays in every list, and nobody sees it.
    is_removed = models.BooleanField(default=False)
    mode = models.PositiveSmallIntegerField(choices=Mode.choices, default=Mode.ALL)

    objects = PostQuerySet.as_manager()

    class Meta:
        verbose_name = gettext_lazy("post")
        verbose_name_plural = gettext_lazy("posts")
        indexes = [
            models.Index(fields=["author", "position", "id"], name="ix_outbox"),
            # All columns that a scan reads of a post. (They are not in `ix_outbox`: a backfill
            # locks posts by that index, and a deletion would have to change its entries, so that
            # each waits for the other.)
            models.Index(fields=["position", "id", "author", "is_deleted"], name="ix_newest"),
            models.Index(fields=["author", "ref_post"], name="ix_reposts"),
            # The reposts of one post, which the stored count is compared with.
            models.Index(fields=["ref_post", "is_deleted"], name="ix_reposted"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class PostContent(models.Model):
    """The text and pictures of a post, separate from its index row.

    Actions check the maxima; the API's schema and the forms take them from here.
    """

    TITLE_MAX, NOTE_MAX, IMAGES_MAX = 120, 100, 9
    # The maximum length of a text, by the kind of the post.
    TEXT_MAX: ClassVar[dict[str, int]] = {
        Kind.MICRO: 2000,
        Kind.ARTICLE: 50_000,
        Kind.VIDEO: 2000,
        Kind.REPOST: 2000,
    }

    post = models.OneToOneField(
        Post, models.CASCADE, primary_key=True, db_constraint=False, related_name="content_row"
    )
    title = models.CharField(max_length=TITLE_MAX, blank=True, default="")
    # A line that is shown above the folded text and pictures.
    note = models.CharField(max_length=NOTE_MAX, blank=True, default="")
    # Staff wrote the note: the author can neither change it nor show the pictures sharp.
    is_note_of_staff = models.BooleanField(default=False)
    content = models.TextField(blank=True, default="")
    # Whether the pictures are blurred until a reader asks for them.
    sensitive = models.BooleanField(default=False)
    # [{"id", "name", "thumb", "width", "height", "alt", "placeholder"}], names below MEDIA_ROOT.
    images = models.JSONField(default=list)
    video_url = models.CharField(max_length=video_links.URL_MAX, blank=True, default="")
    # An uploaded video as `core.media.videos.shown.entry_of` makes it, or null. It changes when the
    # video is ready, and with its description and captions.
    video: "models.JSONField[Any, Any]" = models.JSONField(null=True, default=None)
    # `feeds.content.polls.definition.Definition`, or null; it never changes.
    poll: "models.JSONField[Any, Any]" = models.JSONField(null=True, default=None)
    # The preview of the first address: {"url", "title", "text", "image"}, the image as in `images`
    # or null. A worker adds it later, see `feeds.content.previews`.
    link: "models.JSONField[Any, Any]" = models.JSONField(null=True, default=None)
    # Rises with each edit of the words, the pictures or the audience.
    version = models.PositiveIntegerField(default=1)
    edited_at = models.BigIntegerField(null=True, help_text="of the last edit, Unix ms")

    def __str__(self) -> str:
        return self.title or shortened(self.content, 40)

    def picture_ids(self) -> list[int]:
        """Return the ids of the pictures in their order."""
        return [int(image["id"]) for image in self.images]

    def media_ids(self) -> list[int]:
        """Return the ids of the pictures and the video that the post or its preview shows."""
        others = [self.link and self.link["image"], self.video]
        return self.picture_ids() + [int(one["id"]) for one in others if one]

    @staticmethod
    def image_of(item: Media) -> dict[str, Any]:
        """Return the entry of a picture in `images`."""
        return {
            "id": str(item.pk),
            "name": item.name,
            "thumb": item.thumb_name,
            "width": item.width,
            "height": item.height,
            "alt": item.alt,
            "placeholder": item.placeholder,
        }


class PostAudience(models.Model):
    """A person who may see a post for MENTIONED, besides its author. None is ever added later."""

    pk = models.CompositePrimaryKey("post", "user")
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    user = user_key()

    def __str__(self) -> str:
        return f"{self.user_id} of {self.post_id}"


def named_to(user_id: int) -> models.Q:
    """Return the condition of posts for MENTIONED of which a person is one of the named people."""
    named = PostAudience.objects.filter(post_id=models.OuterRef("pk"), user_id=user_id)
    return models.Q(models.Exists(named), visibility=Visibility.MENTIONED)


class PostVersion(models.Model):
    """The words of a former version of a post that is not deleted."""

    id = models.BigAutoField(primary_key=True)
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    version = models.PositiveIntegerField()
    title = models.CharField(max_length=PostContent.TITLE_MAX, blank=True, default="")
    note = models.CharField(max_length=PostContent.NOTE_MAX, blank=True, default="")
    content = models.TextField(blank=True, default="")
    edited_at = models.BigIntegerField(
        null=True, help_text="when it became the present version, Unix ms; empty for the first"
    )

    class Meta:
        verbose_name = gettext_lazy("former version of a post")
        verbose_name_plural = gettext_lazy("former versions of posts")
        constraints = [models.UniqueConstraint(fields=["post", "version"], name="uk_post_version")]

    def __str__(self) -> str:
        return f"{self.post_id} version {self.version}"


class PostImage(models.Model):
    """Links a picture or video to a post that shows it: readers of the post may see its files.

    `PostContent.images` has the pictures of a post in order.
    """

    pk = models.CompositePrimaryKey("media_id", "post")
    media_id = models.BigIntegerField()
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="pictures"
    )

    def __str__(self) -> str:
        return f"{self.media_id} in {self.post_id}"


class RecommendedAuthor(models.Model):
    """An author picked by staff; the recommended feed shows their posts."""

    author = models.OneToOneField(
        "accounts.User", models.CASCADE, primary_key=True, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = gettext_lazy("recommended author")
        verbose_name_plural = gettext_lazy("recommended authors")

    def __str__(self) -> str:
        return str(self.author)
