"""Whatever can be liked or talked about."""

from django.db import models
from django.utils import timezone


class SubjectType(models.IntegerChoices):
    """What `subj_id` is an id of."""

    POST = 1
    COMMENT = 2


class Subject(models.Model):
    """Counters and state of one liked or discussed thing; made with the first of what it counts."""

    class Status(models.IntegerChoices):
        """Whether the author lets people comment, and whose comments show.

        FEATURED shows what the author pinned or wrote, to each reader also their own comments, and
        to the author all.
        """

        OPEN = 0
        CLOSED = 1
        FEATURED = 2
        DELETED = 3

    id = models.BigAutoField(primary_key=True)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    comment_count = models.PositiveIntegerField(default=0)
    # These as of the last fold; what is shown has the changes since (`CountChange`).
    like_count = models.PositiveIntegerField(default=0)
    repost_count = models.PositiveIntegerField(default=0)
    bookmark_count = models.PositiveIntegerField(default=0)
    status = models.PositiveSmallIntegerField(choices=Status.choices, default=Status.OPEN)
    # Ids of the pinned comments, at most `actions.PIN_MAX`; each has the bit as well.
    pins = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subj_type", "subj_id"], name="uk_subject")]

    def __str__(self) -> str:
        return f"{self.get_subj_type_display()} {self.subj_id}"
