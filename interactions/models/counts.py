"""Pending changes of counts that many people change at once."""

from django.db import models

from interactions.models.subjects import SubjectType


class Counted(models.IntegerChoices):
    """The kind of a change; `COLUMNS` names the counts."""

    LIKE = 1
    REPOST = 2
    BOOKMARK = 3


# Columns of a `Subject`; comments have only the first.
COLUMNS: dict[int, str] = {
    Counted.LIKE: "like_count",
    Counted.REPOST: "repost_count",
    Counted.BOOKMARK: "bookmark_count",
}


class CountChange(models.Model):
    """A like, repost or bookmark added or removed since the kept count was last folded.

    Written with the row of the like, so the kept count plus its changes is the exact number at any
    moment. Rows are only inserted, so people who like the same object do not wait for each other.
    `actions.fold_counts` folds them into the counts.
    """

    id = models.BigAutoField(primary_key=True)
    subj_type = models.PositiveSmallIntegerField(choices=SubjectType.choices)
    subj_id = models.BigIntegerField()
    counted = models.PositiveSmallIntegerField(choices=Counted.choices)
    by = models.SmallIntegerField(help_text="1 or -1")

    class Meta:
        indexes = [
            models.Index(
                fields=["subj_type", "subj_id", "id", "counted", "by"], name="ix_count_change"
            )
        ]

    def __str__(self) -> str:
        what = self.get_counted_display().lower()
        return f"{self.by:+d} {what} of {self.subj_type}:{self.subj_id}"
