"""Reports by people, and the staff queue built from them."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Reason
from socialsite.core.text.cuts import shortened


class ReportedKind(models.IntegerChoices):
    """The type of object that `Case.subject_id` refers to."""

    POST = 1
    COMMENT = 2
    USER = 3


# By name, as in addresses, the API and the audit trail.
REPORTABLE = {kind.name.lower(): kind for kind in ReportedKind}


class Outcome(models.TextChoices):
    """The result of a case; empty while it is open."""

    OPEN = "", _("not decided yet")
    DISMISSED = "dismissed", _("Dismissed")
    DELETED = "deleted", _("Deleted")
    WARNED = "warned", _("warned")
    NOTED = "noted", _("content note added")
    LIMITED = "limited", _("limited")
    SUSPENDED = "suspended", _("suspended")
    BANNED = "banned", _("Banned")
    GONE = "gone", _("gone by itself")


class Answer(models.TextChoices):
    """What people learn of the outcome of their reports: never what was decided about others."""

    ACTED = "acted", _("The staff acted on it.")
    DISMISSED = "dismissed", _("The staff found that it does not break the rules.")
    GONE = "gone", _("It is gone already.")


ANSWERS = {Outcome.DISMISSED.value: Answer.DISMISSED, Outcome.GONE.value: Answer.GONE}


class Case(models.Model):
    """All reports of one object: a row of the staff queue. A new report reopens it."""

    id = models.BigAutoField(primary_key=True)
    kind = models.PositiveSmallIntegerField(choices=ReportedKind.choices)
    subject_id = models.BigIntegerField()
    # The author, or the reported person.
    owner = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    open_count = models.PositiveIntegerField(default=0)
    # Reason → number of open reports with it.
    reasons = models.JSONField(default=dict)
    reported_at = models.BigIntegerField(default=0, help_text="time of the last report, Unix ms")
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True, default="")
    closed_at = models.BigIntegerField(null=True, help_text="Unix ms")
    # NULL for a case that no staff member closed.
    closed_by = models.ForeignKey(
        "accounts.User",
        models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )

    # Who of staff works on it; stays when the case is closed, until a new report reopens it.
    assignee = models.ForeignKey(
        "accounts.User",
        models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
        verbose_name=_("assigned to"),
    )

    class Meta:
        verbose_name = _("case")
        verbose_name_plural = _("cases")
        constraints = [models.UniqueConstraint(fields=["kind", "subject_id"], name="uk_case")]
        indexes = [
            models.Index(fields=["open_count", "reported_at"], name="ix_case_open"),
            models.Index(fields=["owner", "open_count"], name="ix_case_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display().lower()} {self.subject_id}"


class Report(models.Model):
    """A report by one person. Only staff ever learn who it was."""

    WORDS_MAX = 500

    id = models.BigAutoField(primary_key=True)
    case = models.ForeignKey(Case, models.CASCADE, db_constraint=False, db_index=False)
    reporter = models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    reason = models.CharField(max_length=16, choices=Reason.choices)
    words = models.CharField(max_length=WORDS_MAX, blank=True, default="")
    created_at = models.BigIntegerField(help_text="Unix ms")
    # True or NULL: by the unique key a person has one open report of a case, and any number of
    # closed ones.
    is_open = models.BooleanField(null=True, default=True)
    outcome = models.CharField(max_length=16, choices=Outcome.choices, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["case", "reporter", "is_open"], name="uk_report_open")
        ]
        # The oldest open report, and the reports of a day.
        indexes = [models.Index(fields=["is_open", "created_at"], name="ix_report_time")]

    def __str__(self) -> str:
        return f"{self.reason} by {self.reporter_id}"


class CaseNote(models.Model):
    """A note of staff about a case, for other staff; it never changes."""

    WORDS_MAX = 1000

    id = models.BigAutoField(primary_key=True)
    case = models.ForeignKey(
        Case,
        models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="+",
        verbose_name=_("case"),
    )
    author = models.ForeignKey(
        "accounts.User",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
        verbose_name=_("author"),
    )
    words = models.CharField(max_length=WORDS_MAX, verbose_name=_("text"))
    created_at = models.BigIntegerField(help_text="Unix ms", verbose_name=_("time"))

    class Meta:
        verbose_name = _("note about a case")
        verbose_name_plural = _("notes about cases")
        indexes = [models.Index(fields=["case", "id"], name="ix_case_note")]

    def __str__(self) -> str:
        return shortened(self.words, 40)
