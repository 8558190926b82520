"""Notifications: repeated actions of one person, or actions of many, are grouped in one row.

- `NotificationCause` is one action of somebody towards somebody: a like, a comment, a follow. Its
  row is unique, so a repeated action counts once (T29). It stays when the action is undone, so that
  liking again does not notify again.
- `Notification` is a group of causes: of one reader, of one kind, about one subject. Only
  `notifying.fold` builds it from its causes, under the lock of the reader's `NotificationReader`.
- Positions are Unix ms, assigned by the fold under that lock: in the order in which a reader's
  notifications commit, so that none can appear below the read mark (T50).
"""

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy

from interactions.kinds import BY_VALUE
from socialsite.core.ids import new_id


def _user_key() -> "models.ForeignKey[Any, Any]":
    return models.ForeignKey(
        "accounts.User", models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )


class NotificationReader(models.Model):
    """A person with notifications: the lock of their groups, and their preferences."""

    user = models.OneToOneField(
        "accounts.User", models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="+"
    )
    last_position = models.BigIntegerField(
        default=0, help_text="of the newest notification, Unix ms"
    )
    # Kind by name → whose actions notify; a missing kind means everyone's.
    preferences = models.JSONField(default=dict)
    # Names of the kinds that are not pushed to the person's devices.
    not_pushed = models.JSONField(default=list)
    # Mails about mentions (`notifying.mention_mails`): above which position they are still to come,
    # when the next one is planned (0: none is), and when the last one went. Unix ms.
    mentions_after = models.BigIntegerField(default=0)
    mention_mail_due = models.BigIntegerField(default=0)
    mention_mail_at = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"reader {self.pk}"


class Notification(models.Model):
    """All causes of one kind about one subject, as one notification.

    `actor_count` and `newest` cover visible actors as of the last fold; readers check visibility
    again (`queries.notifications`). Without actors `position` is 0, and nothing is shown.
    """

    REASON_MAX = 32

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = _user_key()
    # A value of `notifying.kinds`; without choices, so that a new kind needs no migration.
    kind = models.PositiveSmallIntegerField()
    subject_id = models.BigIntegerField()
    # The post that is the subject or contains it; 0 for people.
    post_id = models.BigIntegerField(default=0)
    position = models.BigIntegerField(default=0, help_text="of the newest actor, Unix ms")
    actor_count = models.PositiveIntegerField(default=0)
    # The newest actors as [id, position], newest first: enough to show three if some are hidden.
    newest = models.JSONField(default=list)
    # The reader's read mark; `is_unread` says whether `position` is above it.
    read_position = models.BigIntegerField(default=0)
    is_unread = models.BooleanField(default=False)
    touched_at = models.BigIntegerField(help_text="last change by a fold, Unix ms")
    # For content removed by staff: the reason.
    reason = models.CharField(max_length=REASON_MAX, blank=True, default="")

    class Meta:
        verbose_name = gettext_lazy("notification")
        verbose_name_plural = gettext_lazy("notifications")
        constraints = [
            models.UniqueConstraint(fields=["user", "kind", "subject_id"], name="uk_notification")
        ]
        indexes = [
            models.Index(fields=["user", "position", "id"], name="ix_notified"),
            models.Index(fields=["user", "kind", "position", "id"], name="ix_notified_kind"),
            models.Index(fields=["user", "is_unread", "position"], name="ix_unread"),
            models.Index(fields=["post_id", "subject_id"], name="ix_notified_about"),
            models.Index(fields=["is_unread", "touched_at"], name="ix_notified_old"),
        ]

    def __str__(self) -> str:
        return f"{BY_VALUE[self.kind].name} {self.subject_id} for {self.user_id}"


class NotificationCause(models.Model):
    """One action of `actor` towards `user`; actor 0 is the site or its staff, who stay unnamed.

    `stands` says that it was not undone. `shown` says that it counts in its group: it stands, and
    the actor is visible to the reader. `muted` was decided by the reader's preferences at creation.
    """

    id = models.BigIntegerField(primary_key=True, default=new_id)
    user = _user_key()
    kind = models.PositiveSmallIntegerField()
    subject_id = models.BigIntegerField()
    post_id = models.BigIntegerField(default=0)
    actor = _user_key()
    # The comment, if one person can repeat the action; otherwise 0.
    ref = models.BigIntegerField(default=0)
    stands = models.BooleanField(default=False)
    shown = models.BooleanField(default=False)
    muted = models.BooleanField(default=False)
    position = models.BigIntegerField(default=0, help_text="Unix ms; 0 before its first fold")
    # The reader while the group lacks the last change, otherwise NULL.
    due = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=Notification.REASON_MAX, blank=True, default="")

    class Meta:
        verbose_name = gettext_lazy("notification cause")
        verbose_name_plural = gettext_lazy("notification causes")
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
