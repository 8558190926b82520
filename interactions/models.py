"""Likes and comments. A `Subject` is whatever can be liked or talked about (A36)."""

from django.db import models
from django.utils import timezone

from socialsite.core.ids import new_id


class SubjectType(models.IntegerChoices):
    """What `subj_id` is an id of."""

    POST = 1
    COMMENT = 2


class Subject(models.Model):
    """Counters and state of one liked or discussed thing; made with its first like or comment."""

    class Status(models.IntegerChoices):
        """Whether the author lets people comment, and whose comments show."""

        OPEN = 0
        CLOSED = 1
        FEATURED = 2
        DELETED = 3

    id = models.BigAutoField(primary_key=True)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    comment_count = models.PositiveIntegerField(default=0)
    like_count = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(choices=Status.choices, default=Status.OPEN)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subj_type", "subj_id"], name="uk_subject")]

    def __str__(self) -> str:
        return f"{self.get_subj_type_display()} {self.subj_id}"


class Like(models.Model):
    """One person likes one subject (A33); unique, so a repeat changes nothing (T52)."""

    id = models.BigIntegerField(primary_key=True, default=new_id)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    user = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    created_at = models.BigIntegerField(help_text="Unix ms")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subj_type", "subj_id", "user"], name="uk_like")
        ]
        indexes = [models.Index(fields=["user", "subj_type", "subj_id"], name="ix_like_user")]

    def __str__(self) -> str:
        return f"{self.user_id} likes {self.subj_type}:{self.subj_id}"


class Comment(models.Model):
    """The index row of one comment (A37); its words are in `CommentContent`.

    `root` is NULL for a comment on the subject itself, otherwise the comment its thread hangs from;
    a boolean could not page the replies of a root (T54).
    """

    class Attr(models.IntegerChoices):
        """Bits of `attrs`, each set by the subject's author."""

        PINNED = 1
        AUTHOR_LIKED = 2
        AUTHOR_REPLIED = 4

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
    like_count = models.PositiveIntegerField(default=0)
    reply_count = models.PositiveIntegerField(default=0)
    deleted = models.BooleanField(default=False)
    attrs = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["subject", "root", "position", "id"], name="ix_thread_new"),
            models.Index(fields=["subject", "root", "like_count", "id"], name="ix_thread_hot"),
        ]

    def __str__(self) -> str:
        return f"comment {self.pk}"


class CommentContent(models.Model):
    """The words of a comment (A38)."""

    comment = models.OneToOneField(
        Comment, models.CASCADE, primary_key=True, db_constraint=False, related_name="content_row"
    )
    content = models.TextField()

    def __str__(self) -> str:
        return self.content[:40]
