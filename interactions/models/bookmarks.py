"""Bookmarks, which are private to their owner."""

from django.db import models

from socialsite.core.ids import new_id


class Bookmark(models.Model):
    """One person bookmarks one post; unique, so a repeat changes nothing. Nobody else sees it.

    (position, post) is its place in the list of the person.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    post_id = models.BigIntegerField()
    position = models.BigIntegerField(help_text="time of the bookmark, Unix ms")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "post_id"], name="uk_bookmark")]
        indexes = [
            models.Index(fields=["user", "position", "post_id"], name="ix_bookmarks"),
            # The bookmarks of one post, which the stored count is compared with (`recount`).
            models.Index(fields=["post_id"], name="ix_bookmarked"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} keeps {self.post_id}"
