"""What is remembered of requests: repeated ones and their budgets."""

from django.db import models
from django.utils import timezone


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
