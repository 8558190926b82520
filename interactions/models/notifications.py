"""Notifications: what one person did again and again, or many did, is one row.

- `NotificationCause` is one thing that somebody did to somebody: a like, a comment, a follow. Its
  row is unique, so nothing that happens twice counts twice (T29), and stays when the thing is taken
  back, so that liking again and again tells nothing new.
- `Notification` is a group of causes: of one reader, of one kind, about one subject. It is made
  from its causes by `notifying.fold` alone, under the lock of the reader's `NotificationReader`.
- Positions are Unix ms, given by the fold under that lock: in the order in which a reader's
  notifications commit, so that none can appear below what was read before (T50).
"""

from typing import Any

from django.db import models

from interactions.notifying.kinds import BY_VALUE
from socialsite.core.ids import new_id


def _user_key() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )


class NotificationReader(models.Model):
    """Somebody who was told something: the lock of their groups, and what they want to hear of."""

    user = models.OneToOneField(
        "accounts.User", models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="+"
    )
    last_position = models.BigIntegerField(default=0, help_text="the last one given, Unix ms")
    # Kind by name → whose doings are told; a kind that is not in it: everyone's.
    preferences = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"reader {self.pk}"


class Notification(models.Model):
    """All that is to be told of one kind about one subject.

    `actor_count` and `newest` are of those who did it and may be shown as far as folded: readers
    ask again (`queries.notifications`). Nobody is left: `position` is 0, and nothing is shown.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = _user_key()
    # A value of `notifying.kinds`; no choices here, so that a new kind needs no migration.
    kind = models.PositiveSmallIntegerField()
    subject_id = models.BigIntegerField()
    # The post that the subject is, or is below; 0 for people.
    post_id = models.BigIntegerField(default=0)
    position = models.BigIntegerField(default=0, help_text="of the newest actor, Unix ms")
    actor_count = models.PositiveIntegerField(default=0)
    # The newest actors as [id, position], newest first: enough to show three when some are hidden.
    newest = models.JSONField(default=list)
    # Up to here the reader has read; `is_unread` says whether `position` is beyond.
    read_position = models.BigIntegerField(default=0)
    is_unread = models.BooleanField(default=False)
    touched_at = models.BigIntegerField(help_text="last change by a fold, Unix ms")
    # Of what staff removed: why.
    reason = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "kind", "subject_id"], name="uk_notification")
        ]
        indexes = [
            models.Index(fields=["user", "position", "id"], name="ix_notified"),
            models.Index(fields=["user", "is_unread", "position"], name="ix_unread"),
            models.Index(fields=["post_id", "subject_id"], name="ix_notified_about"),
            models.Index(fields=["is_unread", "touched_at"], name="ix_notified_old"),
        ]

    def __str__(self) -> str:
        return f"{BY_VALUE[self.kind].name} {self.subject_id} for {self.user_id}"


class NotificationCause(models.Model):
    """One thing that `actor` did to `user`; actor 0 is the site's staff, who stay unnamed.

    `stands` says that it was not taken back, `shown` that it counts in its group: it stands, and
    the actor may be shown to the reader. `muted` was decided by the reader's preferences when it
    was new.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = _user_key()
    kind = models.PositiveSmallIntegerField()
    subject_id = models.BigIntegerField()
    post_id = models.BigIntegerField(default=0)
    actor = _user_key()
    # The comment it is, where one person can do it again and again; otherwise 0.
    ref = models.BigIntegerField(default=0)
    stands = models.BooleanField(default=False)
    shown = models.BooleanField(default=False)
    muted = models.BooleanField(default=False)
    position = models.BigIntegerField(default=0, help_text="Unix ms; 0 before its first fold")
    # The reader while the group does not know of the last change, otherwise NULL.
    due = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "kind", "subject_id", "actor", "ref"], name="uk_notification_cause"
            )
        ]
        indexes = [
            models.Index(fields=["due"], name="ix_cause_due"),
            models.Index(fields=["actor", "user"], name="ix_cause_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_id} {BY_VALUE[self.kind].name} {self.subject_id}"
