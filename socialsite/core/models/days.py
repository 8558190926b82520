"""Numbers by day, for the staff home."""

from django.db import models
from django.utils.translation import gettext_lazy


class DayCount(models.Model):
    """How many there were of a kind on a UTC day; see `core.staff_home.day_counts`."""

    KIND_MAX = 16

    pk = models.CompositePrimaryKey("kind", "day")
    kind = models.CharField(max_length=KIND_MAX)
    day = models.DateField()
    number = models.PositiveBigIntegerField()

    class Meta:
        verbose_name = gettext_lazy("number of a day")
        verbose_name_plural = gettext_lazy("numbers of days")

    def __str__(self) -> str:
        return f"{self.day} {self.kind}: {self.number}"
