"""Inboxes: derived from posts and relations, from which they can be rebuilt."""

from django.db import models

from feeds.models.keys import user_key
from feeds.models.posts import Post


class InboxEntry(models.Model):
    """A post pushed to a reader. The primary key is the only index."""

    pk = models.CompositePrimaryKey("user", "publish_time", "post")
    user = user_key()
    publish_time = models.BigIntegerField(help_text="position of the post (T40)")
    post = models.ForeignKey(
        Post, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    author = user_key()

    class Meta:
        verbose_name_plural = "inbox entries"

    def __str__(self) -> str:
        return f"{self.user_id} {self.post_id}"


class InboxEdge(models.Model):
    """How far back the inbox of a viewer is complete for one followed author.

    Posts at or below `backfilled_from` are pulled; NULL, or no row, means all of them are.
    """

    pk = models.CompositePrimaryKey("viewer", "author")
    viewer = user_key()
    author = user_key()
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
