"""Tables of the core: outbox, idempotency keys, uploaded pictures, allowances, schedule."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from socialsite.core.ids import new_id


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


class IdempotencyKey(models.Model):
    """The result of a creating request with this key.

    For 24 h a retry finds it and creates nothing.
    """

    KEY_MAX = 100

    id = models.BigAutoField(primary_key=True)
    user_id = models.BigIntegerField()
    key = models.CharField(max_length=KEY_MAX)
    # SHA-256 of method, path and body: reusing the key for another request is a conflict.
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    # The type of object depends on the address. The response is never stored, as deleted texts
    # would survive in it.
    made_id = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user_id", "key"], name="uk_idempotency_key")
        ]

    def __str__(self) -> str:
        return self.key


class Allowance(models.Model):
    """The state of one owner's budget, if it is counted in the database."""

    # Name of the budget and hash of the owner.
    key = models.CharField(max_length=64, primary_key=True)
    # Unix time in microseconds at which the bucket is full again.
    full_at = models.BigIntegerField(default=0, db_index=True)

    def __str__(self) -> str:
        return self.key


class ScheduledRun(models.Model):
    """The time at which a worker last sent an entry of the schedule; see `core.beat`."""

    name = models.CharField(max_length=64, primary_key=True)
    # Unix time in ms, by the database's clock.
    last_run = models.BigIntegerField()

    def __str__(self) -> str:
        return self.name


class Media(models.Model):
    """One re-encoded picture under a random name."""

    ALT_MAX = 200

    id = models.BigIntegerField(primary_key=True, default=new_id)
    owner_id = models.BigIntegerField()
    name = models.CharField(max_length=80, unique=True)
    thumb_name = models.CharField(max_length=80)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    size = models.PositiveIntegerField(help_text="bytes of the picture and its thumbnail")
    alt = models.CharField(max_length=ALT_MAX, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    # Set when a post or an avatar uses it, cleared on release. The sweep checks the others a day
    # after their upload.
    is_used = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "media"
        indexes = [
            models.Index(fields=["owner_id", "created_at"], name="ix_media_owner"),
            models.Index(fields=["is_used", "created_at"], name="ix_media_used"),
        ]

    def __str__(self) -> str:
        return self.name
