"""Invitations, and sign-ups that are no account yet."""

import secrets

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models.people import User
from socialsite.core.ids import new_id


def new_code() -> str:
    """Return the secret of an invitation: 96 random bits."""
    return secrets.token_urlsafe(12)


class Invite(models.Model):
    """A link by which people sign up, so often and so long; it also says who invited whom."""

    CODE_MAX, USES_MAX, DAYS_MAX = 16, 100, 90

    id = models.BigIntegerField(primary_key=True, default=new_id)
    code = models.CharField(
        max_length=CODE_MAX,
        unique=True,
        default=new_code,
        verbose_name=gettext_lazy("code of the invitation"),
    )
    maker = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("invited by")
    )
    uses = models.PositiveSmallIntegerField(default=1, verbose_name=gettext_lazy("uses"))
    used = models.PositiveSmallIntegerField(default=0, verbose_name=gettext_lazy("used"))
    created_at = models.DateTimeField(default=timezone.now, verbose_name=gettext_lazy("created"))
    # Its end as it was made, or the time at which somebody ended it.
    ends_at = models.DateTimeField(verbose_name=gettext_lazy("until"))

    class Meta:
        verbose_name = gettext_lazy("invitation")
        verbose_name_plural = gettext_lazy("invitations")

    def __str__(self) -> str:
        return f"{self.maker} {self.used}/{self.uses}"

    @property
    def nickname(self) -> str:
        """The name of its maker, for lists of rows with names."""
        return self.maker.nickname


class InvitedPerson(models.Model):
    """A person signed up by an invitation."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="+")
    invite = models.ForeignKey(Invite, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.user_id} by {self.invite_id}"


class SignUpRequest(models.Model):
    """A sign-up that waits for its address to be confirmed, or for staff to decide.

    It becomes an account with the same id, and its row is deleted; or it is refused, and deleted
    some days later.
    """

    REASON_MAX, ANSWER_MAX = 1000, 1000

    class State(models.TextChoices):
        """What the request waits for."""

        UNCONFIRMED = "unconfirmed", gettext_lazy("address not confirmed")
        WAITING = "waiting", gettext_lazy("waits for staff")
        REFUSED = "refused", gettext_lazy("refused")

    id = models.BigIntegerField(primary_key=True, default=new_id)
    state = models.CharField(
        max_length=16, choices=State.choices, verbose_name=gettext_lazy("state")
    )
    username = models.CharField(max_length=User.NAME_MAX, verbose_name=gettext_lazy("username"))
    # NULL once it is refused: the name is free again.
    username_key = models.CharField(max_length=User.NAME_MAX, unique=True, null=True)  # noqa: DJ001
    nickname = models.CharField(max_length=User.NICKNAME_MAX, verbose_name=gettext_lazy("name"))
    # The hash; empty once it is refused.
    password = models.CharField(max_length=128)
    email = models.EmailField(
        max_length=User.EMAIL_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("e-mail address"),
    )
    is_confirmed = models.BooleanField(
        default=False, verbose_name=gettext_lazy("address is confirmed")
    )
    # Whether staff decide, as the site was set when the person signed up.
    needs_approval = models.BooleanField(default=False, verbose_name=gettext_lazy("staff decide"))
    reason = models.CharField(
        max_length=REASON_MAX, blank=True, default="", verbose_name=gettext_lazy("why they ask")
    )
    # What staff told a person whom they refused.
    answer = models.CharField(
        max_length=ANSWER_MAX, blank=True, default="", verbose_name=gettext_lazy("answer of staff")
    )
    # Of mails about the request.
    language = models.CharField(
        max_length=10, blank=True, default="", verbose_name=gettext_lazy("language")
    )
    terms_accepted = models.PositiveIntegerField(default=0)
    # By which the person came; one of its uses is taken.
    invite = models.ForeignKey(
        Invite,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=gettext_lazy("invitation"),
    )
    address = models.CharField(
        max_length=45, blank=True, default="", verbose_name=gettext_lazy("address")
    )
    # When the address was stored, for its retention; NULL without an address.
    address_at = models.DateTimeField(null=True, blank=True, db_index=True)
    created_at = models.DateTimeField(default=timezone.now, verbose_name=gettext_lazy("asked"))
    # Since when it is in this state.
    changed_at = models.DateTimeField(default=timezone.now, verbose_name=gettext_lazy("since"))

    class Meta:
        verbose_name = gettext_lazy("sign-up that waits")
        verbose_name_plural = gettext_lazy("sign-ups that wait")
        indexes = [models.Index(fields=["state", "changed_at"], name="ix_sign_up_request")]

    def __str__(self) -> str:
        return f"@{self.username}"
