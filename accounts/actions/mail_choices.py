"""Choose the mails that one gets."""

from django.db.models import F

from accounts.mail import choices
from accounts.models import MailKind, User
from socialsite.core import db


def choose_mails(user: User, kinds: int) -> None:
    """Get mails of exactly these kinds, as bits of `MailKind`."""
    kinds &= sum(MailKind)
    due = choices.digest_after(user.pk, db.now_ms()) if kinds & MailKind.DIGEST else None
    User.objects.filter(pk=user.pk).update(mails=kinds, digest_due=due)


def end_mails(token: str) -> MailKind:
    """End mails of a kind by the link in one of them; a repeat changes nothing. Raises WrongLink.

    Returns the kind. The link works for closed accounts too, and tells nothing about them.
    """
    user_id, kind = choices.read(token)
    User.objects.filter(pk=user_id).update(mails=F("mails").bitand(~kind & 0x7FFF))
    return kind
