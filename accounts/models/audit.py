"""The audit trail."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models.people import User


class AuditEntry(models.Model):
    """One act of staff, or of people on their own accounts."""

    id = models.BigAutoField(primary_key=True)
    # NULL for a command on the server.
    actor = models.ForeignKey(
        User, null=True, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    action = models.CharField(max_length=32)
    subject_type = models.CharField(max_length=16)
    subject_id = models.BigIntegerField()
    detail = models.JSONField(default=dict, blank=True)
    address = models.CharField(max_length=45, blank=True, default="")
    # As in TokenVersion.
    address_at = models.DateTimeField(null=True, blank=True, db_index=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = gettext_lazy("audit entry")
        verbose_name_plural = gettext_lazy("audit entries")
        indexes = [
            models.Index(fields=["subject_type", "subject_id", "id"], name="ix_audit_subject"),
            models.Index(fields=["actor", "id"], name="ix_audit_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject_type} {self.subject_id}"
