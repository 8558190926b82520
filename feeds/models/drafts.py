"""Posts that are not published yet."""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy

from feeds.models.keys import user_key
from feeds.models.posts import KIND_MAX, VISIBILITY_MAX, Kind, PostContent, Visibility
from socialsite.core.ids import new_id
from socialsite.core.media import video_links


class Draft(models.Model):
    """An unpublished post. With `publish_at` a worker publishes it at that time."""

    MOST = 100

    id = models.BigIntegerField(primary_key=True, default=new_id)
    author = user_key()
    kind = models.CharField(max_length=KIND_MAX, choices=Kind.choices, default=Kind.MICRO)
    title = models.CharField(max_length=PostContent.TITLE_MAX, blank=True, default="")
    note = models.CharField(max_length=PostContent.NOTE_MAX, blank=True, default="")
    content = models.TextField(blank=True, default="")
    sensitive = models.BooleanField(default=False)
    video_url = models.CharField(max_length=video_links.URL_MAX, blank=True, default="")
    # The id of an uploaded video, a Media.
    video = models.BigIntegerField(null=True, db_index=True)
    # `feeds.content.polls.definition.Given`, or null.
    poll: "models.JSONField[Any, Any]" = models.JSONField(null=True, default=None)
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
