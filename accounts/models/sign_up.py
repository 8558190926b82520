"""Sign-ups that are no account yet."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models.people import User
from socialsite.core.ids import new_id


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
