"""Polls that are open."""

from django.db import models

from feeds.models.posts import Post


class OpenPoll(models.Model):
    """A poll whose end was not announced yet; `PostContent.poll` defines it.

    A vote locks the row in share mode. The end deletes it, so all votes precede the end.
    """

    post = models.OneToOneField(
        Post, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    ends_at = models.BigIntegerField(db_index=True, help_text="Unix ms")

    def __str__(self) -> str:
        return f"poll of {self.post_id}"
