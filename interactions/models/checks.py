"""Results of checking the counts."""

from django.db import models


class CountCheck(models.Model):
    """The result of one run of `interactions.actions.recount`."""

    id = models.BigAutoField(primary_key=True)
    finished_at = models.BigIntegerField(help_text="Unix ms")
    rows = models.PositiveBigIntegerField(help_text="rows compared")
    wrong = models.PositiveBigIntegerField(help_text="rows with a wrong count")
    # Counter → total absolute difference; has all of `recount.COUNTERS`.
    drift = models.JSONField(default=dict)
    fixed = models.BooleanField()

    def __str__(self) -> str:
        return f"{self.finished_at}: {self.wrong} of {self.rows}"
