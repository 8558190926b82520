"""Previews of links: the posts that still need one, and what was found lately."""

from django.db import models
from django.utils.translation import gettext_lazy

from feeds.models.posts import Post


class WantedPreview(models.Model):
    """A post whose link has to be looked up; the row is deleted with the result, whatever it is."""

    post = models.OneToOneField(
        Post, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    # Not looked up before this time (Unix ms): the end of a lease, or the next try.
    due_at = models.BigIntegerField(db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"preview of {self.post_id}"


class FoundPreview(models.Model):
    """The preview of an address, kept for posts with the same link; empty if there was nothing.

    `feeds.content.previews.pages` bounds the texts.
    """

    # SHA-256 of the address.
    key = models.CharField(max_length=64, primary_key=True)
    title = models.CharField(max_length=200, blank=True, default="")
    text = models.CharField(max_length=300, blank=True, default="")
    # The re-encoded picture, or empty.
    picture = models.BinaryField(default=b"")
    found_at = models.BigIntegerField(db_index=True, help_text="Unix ms")

    class Meta:
        verbose_name = gettext_lazy("preview of a link")
        verbose_name_plural = gettext_lazy("previews of links")

    def __str__(self) -> str:
        return self.title
