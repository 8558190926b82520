"""Choose the mails that one gets."""

from django.db.models import F

from accounts.mail import choices
from accounts.models import MailKind, User
from socialsite.core import db


@db.atomic
def choose_mails(user: User, kinds: int) -> None:
    """Get mails of exactly these kinds, as bits of `MailKind`."""
    kinds &= sum(MailKind)
    people = User.objects.filter(pk=user.pk)
    people.update(mails=kinds)
    if not kinds & MailKind.DIGEST:
        people.update(digest_due=None)
        return
    people.filter(digest_due=None).update(digest_due=choices.digest_after(user.pk, db.now_ms()))


def end_mails(token: str) -> MailKind:
    """End mails of a kind by the link in one of them; a repeat changes nothing. Raises WrongLink.

    Returns the kind. The link works for closed accounts too, and tells nothing about them.
    """
    user_id, kind = choices.read(token)
    User.objects.filter(pk=user_id).update(mails=F("mails").bitand(~kind & 0x7FFF))
    return kind
