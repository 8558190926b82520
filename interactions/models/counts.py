"""How counts of what many people do at once change."""

from django.db import models

from interactions.models.subjects import SubjectType


class Counted(models.IntegerChoices):
    """What a change is of; `COLUMNS` names the counts."""

    LIKE = 1
    REPOST = 2
    BOOKMARK = 3


# Of a `Subject`; comments have the first alone.
COLUMNS: dict[int, str] = {
    Counted.LIKE: "like_count",
    Counted.REPOST: "repost_count",
    Counted.BOOKMARK: "bookmark_count",
}


class CountChange(models.Model):
    """A like, repost or bookmark begun or taken back that the kept count does not have yet.

    Written with the row of the like, so the kept count and its changes make the number of likes at
    any moment; only added, so that those who like one thing do not wait for each other. Folded into
    the counts by `actions.fold_counts`.
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
