"""Posts that many people react to now."""

from django.db import models


class RisingPost(models.Model):
    """A post and its place in the last ranking; `score` says by how much it leads."""

    place = models.PositiveSmallIntegerField(primary_key=True, help_text="0: the first")
    post_id = models.BigIntegerField()
    score = models.FloatField()

    def __str__(self) -> str:
        return f"{self.place}: {self.post_id}"
