"""Reads of closed accounts: until when their people can take them back."""

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Closing, User
from socialsite.core.errors import AccountClosing
from socialsite.core.times import iso_of


def of(user_id: int) -> Closing | None:
    """Return the closing of an account; None for an account that its person did not close."""
    return Closing.objects.filter(pk=user_id).first()


def until(user_id: int) -> datetime | None:
    """Return until when a closed account can be taken back; None if it cannot."""
    found = of(user_id)
    return found.erase_at if found is not None and can_return(found) else None


def can_return(closing: Closing) -> bool:
    """Return whether the account can be taken back: its time is not over, no part is erased."""
    return closing.erasing_at is None and closing.erase_at > timezone.now()


def may_recover(user: User) -> bool:
    """Return whether a person may set a new password by mail.

    So may who closed the account and can take it back: perhaps somebody else closed it.
    """
    return user.is_active or (user.banned_at is None and until(user.pk) is not None)


def refusal(user_id: int) -> AccountClosing | None:
    """Return the answer to a log-in with the right credentials of a closed account."""
    moment = until(user_id)
    if moment is None:
        return None
    text = _("Your account is closed, and will be erased on %(time)s. You can take it back.")
    return AccountClosing(text % {"time": shown(moment)}, closes_at=iso_of(moment))


def shown(moment: datetime) -> str:
    """Return a time as mails and messages say it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"
