"""What staff decided about people, and the objections to it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.people import User
from socialsite.core.ids import new_id


class Reason(models.TextChoices):
    """The reason of a report or of an act. The values are stored in tables and never change."""

    SPAM = "spam", _("Spam or advertising")
    ABUSE = "abuse", _("Insult or harassment")
    HATE = "hate", _("Hate against a group of people")
    VIOLENCE = "violence", _("Violence or threats")
    SEXUAL = "sexual", _("Sexual content")
    PRIVATE = "private", _("Private information about somebody")
    OTHER = "other", _("Something else")


class StaffAct(models.Model):
    """One act with the reason that the person reads. It stands until it is undone."""

    WORDS_MAX, KEPT = 1000, "kept"

    class Kind(models.TextChoices):
        """What was done. The values are stored and never change."""

        WARN = "warn", _("Warning")
        LIMIT = "limit", _("Not recommended, not found")
        SUSPEND = "suspend", _("Suspended for some time")
        BAN = "ban", _("Banned")
        TAKE_AVATAR = "take_avatar", _("Profile picture removed")
        TAKE_BANNER = "take_banner", _("Banner removed")
        TAKE_BIO = "take_bio", _("Text of the profile removed")
        NOTE = "note", _("Content note added")
        DELETE_POST = "delete_post", _("Post deleted")
        DELETE_COMMENT = "delete_comment", _("Comment deleted")

    id = models.BigIntegerField(primary_key=True, default=new_id)
    kind = models.CharField(max_length=16, choices=Kind.choices, verbose_name=_("kind"))
    user = models.ForeignKey(
        User, models.CASCADE, db_index=False, related_name="+", verbose_name=_("person")
    )
    # Who did it; NULL for a command on the server. The person never learns who it was.
    actor = models.ForeignKey(
        User,
        models.CASCADE,
        null=True,
        db_index=False,
        related_name="+",
        verbose_name=_("staff member"),
    )
    # The post or comment; 0 for an act on the person.
    subject_id = models.BigIntegerField(default=0, verbose_name=_("post or comment"))
    # Empty for an act without one.
    reason = models.CharField(
        max_length=16, choices=Reason.choices, blank=True, default="", verbose_name=_("reason")
    )
    words = models.CharField(
        max_length=WORDS_MAX, blank=True, default="", verbose_name=_("words to the person")
    )
    until = models.DateTimeField(null=True, verbose_name=_("until"))
    # What an undo puts back: a text, a file, KEPT for a post or a comment, the note that the author
    # wrote (`feeds.actions.noting`); empty for nothing.
    taken = models.CharField(
        max_length=User.BIO_MAX, blank=True, default="", verbose_name=_("can be given back")
    )
    created_at = models.DateTimeField(verbose_name=_("created"))
    undone_at = models.DateTimeField(null=True, verbose_name=_("undone"))
    undone_by = models.ForeignKey(
        User,
        models.CASCADE,
        null=True,
        db_index=False,
        related_name="+",
        verbose_name=_("undone by"),
    )

    class Meta:
        verbose_name = _("act on a person")
        verbose_name_plural = _("acts on people")
        indexes = [models.Index(fields=["user", "id"], name="ix_act_user")]

    def __str__(self) -> str:
        return f"{self.kind} {self.user}"


class Appeal(models.Model):
    """The objection of a person to an act on them: written once, decided once."""

    TEXT_MAX, ANSWER_MAX = 1000, 1000

    class State(models.TextChoices):
        """The decision. The values are stored and never change."""

        OPEN = "open", _("not decided yet")
        GRANTED = "granted", _("granted")
        REFUSED = "refused", _("refused")

    act = models.OneToOneField(
        StaffAct,
        models.CASCADE,
        primary_key=True,
        related_name="appeal",
        verbose_name=_("act on a person"),
    )
    text = models.CharField(max_length=TEXT_MAX, verbose_name=_("text"))
    state = models.CharField(
        max_length=8, choices=State.choices, default=State.OPEN, verbose_name=_("state")
    )
    created_at = models.DateTimeField(verbose_name=_("created"))
    # NULL if it was granted by an undo from another page.
    decided_by = models.ForeignKey(
        User,
        models.CASCADE,
        null=True,
        db_index=False,
        related_name="+",
        verbose_name=_("decided by"),
    )
    decided_at = models.DateTimeField(null=True, verbose_name=_("decided"))
    answer = models.CharField(
        max_length=ANSWER_MAX, blank=True, default="", verbose_name=_("answer to the person")
    )

    class Meta:
        verbose_name = _("appeal")
        verbose_name_plural = _("appeals")
        indexes = [models.Index(fields=["state", "created_at"], name="ix_appeal_state")]

    def __str__(self) -> str:
        return str(self.act)
