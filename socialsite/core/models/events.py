"""Events and periodic work."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy


class Event(models.Model):
    """One event of the outbox, written in the transaction of its fact.

    A row lives until its effects are done. `applied` is set once the database effects are
    committed; after a crash only the remaining effects repeat.
    """

    id = models.BigAutoField(primary_key=True)
    aggregate_type = models.CharField(max_length=32)
    aggregate_id = models.BigIntegerField()
    type = models.CharField(max_length=64)
    payload = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)
    # Not claimed before this time (Unix ms): the end of a lease, or the next retry.
    available_at = models.BigIntegerField(default=0)
    # Fencing token of the lease: each claim writes another number.
    lease = models.BigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    applied = models.BooleanField(default=False)
    dead = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = gettext_lazy("event")
        verbose_name_plural = gettext_lazy("events")
        indexes = [
            models.Index(fields=["dead", "available_at", "id"], name="ix_outbox_due"),
            models.Index(fields=["aggregate_type", "aggregate_id"], name="ix_outbox_agg"),
            models.Index(fields=["created_at"], name="ix_outbox_ct"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.aggregate_id}"


class StreamRecord(models.Model):
    """One record of the change stream that is not in the broker yet; see `core.events.stream`.

    Debezium may read this table instead, so its columns are an interface. Its id stays the id of
    the record in the stream, and no other record ever gets it.
    """

    id = models.BigAutoField(primary_key=True)
    aggregate_type = models.CharField(max_length=32)
    aggregate_id = models.BigIntegerField()
    type = models.CharField(max_length=64)
    payload = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.pk} {self.type} {self.aggregate_id}"


class ScheduledRun(models.Model):
    """The time at which a worker last sent an entry of the schedule; see `core.events.beat`."""

    name = models.CharField(max_length=64, primary_key=True)
    # Unix time in ms, by the database's clock.
    last_run = models.BigIntegerField()

    def __str__(self) -> str:
        return self.name
