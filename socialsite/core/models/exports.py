"""Archives of people's own data."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from socialsite.core.ids import new_id


class Export(models.Model):
    """An archive that a person asked for; see `core.exports.jobs`. Times are Unix ms."""

    class State(models.TextChoices):
        """From the request to the file. A failed one has no file."""

        WAITING = "waiting", _("being made")
        READY = "ready", _("ready")
        FAILED = "failed", _("failed")

    id = models.BigIntegerField(primary_key=True, default=new_id)
    owner_id = models.BigIntegerField(db_index=True)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    progress = models.PositiveSmallIntegerField(default=0, help_text="per cent")
    # When a worker may claim it: at once, after the lease of another one, or after a pause.
    due_at = models.BigIntegerField()
    # The number of the newest claim, and how many there were that did not end by themselves.
    lease = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    # The random name of the file, and its bytes.
    name = models.CharField(max_length=40, blank=True, default="")
    size = models.PositiveBigIntegerField(default=0)
    created_at = models.BigIntegerField()
    finished_at = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = _("archive of one's data")
        verbose_name_plural = _("archives of people's data")
        indexes = [models.Index(fields=["state", "due_at"], name="ix_export_due")]

    def __str__(self) -> str:
        return f"archive of {self.owner_id}"
