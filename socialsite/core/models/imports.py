"""Imports of people's own data from other sites."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from socialsite.core.ids import new_id


class Import(models.Model):
    """A file that a person uploaded; see `core.imports.jobs`. Times are Unix ms."""

    class Kind(models.TextChoices):
        """What the file has."""

        FOLLOWS = "follows", _("People you follow (CSV)")
        BLOCKS = "blocks", _("People you block (CSV)")
        POSTS = "posts", _("Posts of an archive of this software (ZIP)")
        MASTODON = "mastodon", _("Posts of a Mastodon archive (ZIP)")

    class State(models.TextChoices):
        """From the upload to the undo. Nothing changes before `running`."""

        CHECKING = "checking", _("being checked")
        PREVIEWED = "previewed", _("previewed")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        UNDOING = "undoing", _("being undone")
        UNDONE = "undone", _("undone")
        FAILED = "failed", _("failed")

    id = models.BigIntegerField(primary_key=True, default=new_id)
    owner_id = models.BigIntegerField(db_index=True)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    state = models.CharField(max_length=9, choices=State.choices, default=State.CHECKING)
    progress = models.PositiveSmallIntegerField(default=0, help_text="per cent")
    # When a worker may claim it: at once, after the lease of another one, or after a pause.
    due_at = models.BigIntegerField()
    # The number of the newest claim, and how many there were that did not end by themselves.
    lease = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    # The random name of the file; empty once the file is not needed any more.
    name = models.CharField(max_length=40, blank=True, default="")
    preview = models.JSONField(default=dict)
    # Rows of the file that are done, in the transaction of the change that each of them made.
    position = models.PositiveIntegerField(default=0)
    made = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    created_at = models.BigIntegerField()
    finished_at = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = _("import of one's data")
        verbose_name_plural = _("imports of people's data")
        indexes = [models.Index(fields=["state", "due_at"], name="ix_import_due")]

    def __str__(self) -> str:
        return f"import of {self.kind} of {self.owner_id}"


class ImportItem(models.Model):
    """A row of a file that changed something, to undo it, or that did not or not wholly come."""

    SOURCE_MAX = 150

    id = models.BigIntegerField(primary_key=True, default=new_id)
    import_id = models.BigIntegerField()
    # The number of the row in the file, from 1, and the name that it has.
    row = models.PositiveIntegerField()
    source = models.CharField(max_length=SOURCE_MAX)
    # The person followed or blocked, or the post, and the time (Unix ms), which tells this follow
    # from later ones; NULL for a row that failed.
    target_id = models.BigIntegerField(null=True, db_index=True)
    at = models.BigIntegerField(null=True)
    # The name of the error of a row that failed, or of what a row that was made lacks.
    error = models.CharField(max_length=24, blank=True, default="")

    class Meta:
        verbose_name = _("row of an import")
        verbose_name_plural = _("rows of imports")
        constraints = [
            models.UniqueConstraint(fields=["import_id", "row"], name="uk_import_row"),
        ]

    def __str__(self) -> str:
        return f"row {self.row} of {self.import_id}"
