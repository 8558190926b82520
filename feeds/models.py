"""Posts, inboxes and the durable fan-out plan.

`Post` is an author's outbox: an index row in which only `is_deleted` and `visibility` ever change.
The text is in `PostContent`, its former versions are in `PostVersion`. All other tables here are
derived and can be rebuilt from posts and relations.
"""

from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy

from socialsite.core.ids import new_id
from socialsite.core.media import video_links
from socialsite.core.models import Media


def _user_key() -> "models.ForeignKey[Any, Any]":
    """Return a user column without a database constraint, so hot tables can be sharded by user."""
    return models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )


# Lengths of columns.
KIND_MAX, VISIBILITY_MAX = 8, 9


class Kind(models.TextChoices):
    """The kind of a post."""

    MICRO = "micro"
    ARTICLE = "article"
    VIDEO = "video"
    REPOST = "repost"


class Visibility(models.TextChoices):
    """The audience of a post, besides its author: the only list of the levels, the widest first.

    `feeds.visibility` decides by them; pages and the API show and accept them.
    """

    PUBLIC = "public"
    FOLLOWERS = "followers"


class Mode(models.IntegerChoices):
    """The recipients of the push; fixed at publish, even if the author gains followers."""

    ALL = 0
    ACTIVE = 1
    NONE = 2


class PostQuerySet(models.QuerySet["Post"]):
    """Composable filters over posts."""

    def alive(self) -> "PostQuerySet":
        """Exclude deleted posts and posts of banned or closed accounts."""
        return self.filter(
            is_deleted=False, author__banned_at__isnull=True, author__deleted_at__isnull=True
        )

    def newest_first(self) -> "PostQuerySet":
        """Sort in feed order: (position, id) descending."""
        return self.order_by("-position", "-id")


class Post(models.Model):
    """The index row of one post. (position, id) is its place in every feed."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    author = _user_key()
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

    TITLE_MAX, IMAGES_MAX = 120, 9
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
    content = models.TextField(blank=True, default="")
    # [{"id", "name", "thumb", "width", "height", "alt"}], names below MEDIA_ROOT.
    images = models.JSONField(default=list)
    video_url = models.CharField(max_length=video_links.URL_MAX, blank=True, default="")
    # Rises with each edit of the words, the pictures or the audience.
    version = models.PositiveIntegerField(default=1)
    edited_at = models.BigIntegerField(null=True, help_text="of the last edit, Unix ms")

    def __str__(self) -> str:
        return self.title or self.content[:40]

    def picture_ids(self) -> list[int]:
        """Return the ids of the pictures in their order."""
        return [int(image["id"]) for image in self.images]

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
        }


class PostVersion(models.Model):
    """The words of a former version of a post that is not deleted."""

    id = models.BigAutoField(primary_key=True)
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    version = models.PositiveIntegerField()
    title = models.CharField(max_length=PostContent.TITLE_MAX, blank=True, default="")
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
    """Links a picture to a post that shows it: readers of the post may see the picture's file.

    `PostContent.images` has the pictures of a post in order.
    """

    pk = models.CompositePrimaryKey("media_id", "post")
    media_id = models.BigIntegerField()
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="pictures"
    )

    def __str__(self) -> str:
        return f"{self.media_id} in {self.post_id}"


class Draft(models.Model):
    """An unpublished post. With `publish_at` a worker publishes it at that time."""

    MOST = 100
    KINDS = (Kind.MICRO, Kind.ARTICLE, Kind.VIDEO)

    id = models.BigIntegerField(primary_key=True, default=new_id)
    author = _user_key()
    kind = models.CharField(max_length=KIND_MAX, choices=Kind.choices, default=Kind.MICRO)
    title = models.CharField(max_length=PostContent.TITLE_MAX, blank=True, default="")
    content = models.TextField(blank=True, default="")
    video_url = models.CharField(max_length=video_links.URL_MAX, blank=True, default="")
    visibility = models.CharField(
        max_length=VISIBILITY_MAX, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    # Times by the database's clock, Unix ms.
    publish_at = models.BigIntegerField(null=True, db_index=True)
    # When its publication at `publish_at` did not succeed.
    failed_at = models.BigIntegerField(null=True)
    created_at = models.BigIntegerField()
    updated_at = models.BigIntegerField()

    class Meta:
        verbose_name = gettext_lazy("draft")
        verbose_name_plural = gettext_lazy("drafts")
        indexes = [
            models.Index(fields=["author", "updated_at", "id"], name="ix_drafts"),
            models.Index(fields=["updated_at"], name="ix_drafts_old"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class DraftImage(models.Model):
    """A picture of a draft, and its place among them."""

    pk = models.CompositePrimaryKey("media_id", "draft")
    media_id = models.BigIntegerField()
    draft = models.ForeignKey(Draft, models.CASCADE, db_constraint=False, related_name="pictures")
    number = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ("number",)

    def __str__(self) -> str:
        return f"{self.media_id} in draft {self.draft_id}"


class InboxEntry(models.Model):
    """A post pushed to a reader. The primary key is the only index."""

    pk = models.CompositePrimaryKey("user", "publish_time", "post")
    user = _user_key()
    publish_time = models.BigIntegerField(help_text="position of the post (T40)")
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    author = _user_key()

    class Meta:
        verbose_name_plural = "inbox entries"

    def __str__(self) -> str:
        return f"{self.user_id} {self.post_id}"


class InboxEdge(models.Model):
    """How far back the inbox of a viewer is complete for one followed author.

    Posts at or below `backfilled_from` are pulled; NULL, or no row, means all of them are.
    """

    pk = models.CompositePrimaryKey("viewer", "author")
    viewer = _user_key()
    author = _user_key()
    backfilled_from = models.BigIntegerField(null=True, help_text="Unix ms; 0: complete")

    def __str__(self) -> str:
        return f"{self.viewer_id} {self.author_id} {self.backfilled_from}"


class InboxState(models.Model):
    """One reader's inbox: trimmed below `inbox_floor`, read up to the read mark.

    `generation` rises in every transaction that changes for which posts the inbox is complete, or
    removes rows other than those of deleted posts. A cached copy belongs to one generation and is
    not used with another.
    """

    viewer = models.OneToOneField(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="+",
    )
    inbox_floor = models.BigIntegerField(default=0, help_text="Unix ms; posts at or below: pulled")
    generation = models.BigIntegerField(default=0)
    # The newest position shown to this reader; never decreases (T49).
    read_ts = models.BigIntegerField(default=0)
    read_id = models.BigIntegerField(default=0)
    # The first page that raised the read mark: its ids, and the time of its oldest post in ms.
    # Posts that were inserted between them later were never shown, although they are below the mark
    # (T50).
    shown = models.JSONField(default=list)
    shown_from = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.viewer_id} {self.read_ts}"


class AuthorHead(models.Model):
    """A summary of one author's outbox, which readers check before they pull."""

    author = models.OneToOneField(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        primary_key=True,
        related_name="+",
    )
    last_position = models.BigIntegerField(default=0)
    # Newest post that is not pushed to all; 0 if there never was one.
    last_pulled_position = models.BigIntegerField(default=0)
    post_count = models.PositiveIntegerField(default=0)
    # The tier of the last post, for the hysteresis of the thresholds.
    mode = models.PositiveSmallIntegerField(choices=Mode.choices, default=Mode.ALL)

    class Meta:
        # For authors with posts that were not pushed to all: few of all authors.
        indexes = [models.Index(fields=["last_pulled_position", "author"], name="ix_head_pulled")]

    def __str__(self) -> str:
        return f"{self.author_id} {self.post_count}"


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


class FanOut(models.Model):
    """The delivery of one post. Until it is DONE every reader pulls the post (spec I)."""

    class State(models.IntegerChoices):
        """NEW: no chunks written yet; RUNNING: chunks exist; DONE: all of them are delivered."""

        NEW = 0
        RUNNING = 1
        DONE = 2

    post = models.OneToOneField(
        Post, models.CASCADE, primary_key=True, db_constraint=False, related_name="+"
    )
    author = _user_key()
    position = models.BigIntegerField()
    mode = models.PositiveSmallIntegerField(choices=Mode.choices)
    total = models.PositiveIntegerField(default=0, help_text="chunks")
    state = models.PositiveSmallIntegerField(choices=State.choices, default=State.NEW)
    done_at = models.BigIntegerField(null=True, help_text="Unix ms")

    class Meta:
        verbose_name = gettext_lazy("fan out")
        verbose_name_plural = gettext_lazy("fan outs")
        indexes = [
            models.Index(fields=["state", "author", "position", "post"], name="ix_fanout_open")
        ]

    def __str__(self) -> str:
        return f"{self.post_id} {self.get_state_display()}"


class FanOutChunk(models.Model):
    """A range of followers by id, `lower < id <= upper`, fixed when the plan is written."""

    id = models.BigAutoField(primary_key=True)
    fanout = models.ForeignKey(FanOut, models.CASCADE, db_constraint=False, db_index=False)
    number = models.PositiveIntegerField()
    lower = models.BigIntegerField()
    upper = models.BigIntegerField()
    delivered = models.PositiveIntegerField(default=0)
    done = models.BooleanField(default=False)
    # Fencing token: its holder may work on the chunk until `leased_until` (Unix ms).
    lease = models.BigIntegerField(default=0)
    leased_until = models.BigIntegerField(default=0)
    # Delivered while Redis was down: a new generation invalidated the cached inboxes.
    uncached = models.BooleanField(default=False)

    class Meta:
        verbose_name = gettext_lazy("fan out chunk")
        verbose_name_plural = gettext_lazy("fan out chunks")
        constraints = [models.UniqueConstraint(fields=["fanout", "number"], name="uk_chunk")]
        indexes = [models.Index(fields=["done", "leased_until"], name="ix_chunk_due")]

    def __str__(self) -> str:
        return f"{self.fanout_id} #{self.number}"


class FeedCheck(models.Model):
    """The result of one run of `verify_feeds` over a sample of people."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    viewers = models.PositiveIntegerField()
    pages = models.PositiveIntegerField()
    unsettled = models.PositiveIntegerField(help_text="pages that kept changing")
    differences = models.PositiveIntegerField(help_text="posts that were missing or wrong")

    def __str__(self) -> str:
        return f"{self.finished_at}: {self.differences} of {self.viewers}"
