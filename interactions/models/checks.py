"""What became of looking at the counts."""

from django.db import models


class CountCheck(models.Model):
    """What one run of `interactions.recount` found."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    rows = models.PositiveBigIntegerField(help_text="rows with counts that were looked at")
    wrong = models.PositiveBigIntegerField(help_text="of those with a count that was off")
    # Counter → how far it was off, summed over rows; each of `recount.COUNTERS` is there.
    drift = models.JSONField(default=dict)
    fixed = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.finished_at}: {self.wrong} of {self.rows}"
