"""Objects that can be liked or commented on."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy


class SubjectType(models.IntegerChoices):
    """The type of object that `subj_id` refers to."""

    POST = 1
    COMMENT = 2


class Subject(models.Model):
    """Counters and state of one liked or discussed object; created on first use."""

    class Status(models.IntegerChoices):
        """The people who may comment, and whose comments are shown.

        FEATURED shows comments that the author pinned or wrote. Each reader also sees their own
        comments, and the author sees all.
        """

        OPEN = 0
        CLOSED = 1
        FEATURED = 2
        DELETED = 3

    id = models.BigAutoField(primary_key=True)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    comment_count = models.PositiveIntegerField(default=0)
    # As of the last fold; displayed counts include later changes (`CountChange`).
    like_count = models.PositiveIntegerField(default=0)
    repost_count = models.PositiveIntegerField(default=0)
    bookmark_count = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(choices=Status.choices, default=Status.OPEN)
    # Ids of the pinned comments, at most `actions.PIN_MAX`; each comment has the bit as well.
    pins = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = gettext_lazy("subject")
        verbose_name_plural = gettext_lazy("subjects")
        constraints = [models.UniqueConstraint(fields=["subj_type", "subj_id"], name="uk_subject")]

    def __str__(self) -> str:
        return f"{self.get_subj_type_display()} {self.subj_id}"
