"""Comments: their places in threads, and their text."""

from django.db import models
from django.utils.translation import gettext_lazy

from interactions.models.subjects import Subject
from socialsite.core.ids import new_id
from socialsite.core.text.cuts import shortened


class Comment(models.Model):
    """The index row of one comment; its text is in `CommentContent`.

    `root` is NULL for a comment on the subject itself, otherwise the comment that starts its
    thread. A boolean would not allow paging the replies of a root (T54).
    """

    class Attr(models.IntegerChoices):
        """Bits of `attrs`: marks set by the author of the post, or that they wrote the comment."""

        PINNED = 1
        AUTHOR_LIKED = 2
        AUTHOR_REPLIED = 4
        BY_AUTHOR = 8

    id = models.BigIntegerField(primary_key=True, default=new_id)
    subject = models.ForeignKey(Subject, models.DO_NOTHING, db_constraint=False, db_index=False)
    author = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    root = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    parent = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    position = models.BigIntegerField(help_text="Unix ms")
    # As of the last fold: `hot` uses it; displayed counts include later changes (`CountChange`).
    like_count = models.PositiveIntegerField(default=0)
    reply_count = models.PositiveIntegerField(default=0)
    deleted = models.BooleanField(default=False)
    attrs = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name = gettext_lazy("comment")
        verbose_name_plural = gettext_lazy("comments")
        indexes = [
            models.Index(fields=["subject", "root", "position", "id"], name="ix_thread_new"),
            models.Index(fields=["subject", "root", "like_count", "id"], name="ix_thread_hot"),
            # A person's comments in a thread: for counts and for featured comments.
            models.Index(
                fields=["subject", "author", "root", "parent", "deleted"], name="ix_thread_author"
            ),
            models.Index(fields=["parent", "position", "id"], name="ix_answers"),
            # The comments of a person, for their profile.
            models.Index(fields=["author", "position", "id"], name="ix_comment_author"),
        ]

    def __str__(self) -> str:
        return f"comment {self.pk}"


class CommentContent(models.Model):
    """The text of a comment."""

    TEXT_MAX = 1000

    comment = models.OneToOneField(
        Comment, models.CASCADE, primary_key=True, db_constraint=False, related_name="content_row"
    )
    content = models.TextField()
    # Rises with each edit.
    version = models.PositiveIntegerField(default=1)
    edited_at = models.BigIntegerField(null=True, help_text="of the last edit, Unix ms")

    def __str__(self) -> str:
        return shortened(self.content, 40)
