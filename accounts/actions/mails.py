"""Mails to people, published as events in the transaction of their cause."""

from django.utils.translation import get_language

from accounts.audit import Act
from accounts.events import MailWanted
from accounts.models import User
from socialsite.core.events import publish
from socialsite.core.ids import new_id


def request_mail(kind: str, user_id: int, address: str, *detail: int) -> None:
    """Publish a MailWanted event in the current language, in the transaction of its cause."""
    language = get_language() or ""
    publish(MailWanted(new_id(), kind, user_id, address, language, detail=list(detail)))


def write_of(act: Act, user: User) -> None:
    """Notify a person by mail of an act on their account, in the transaction of the act.

    Does nothing for a person without an address.
    """
    if User.objects.filter(pk=user.pk).exclude(email="").exists():
        request_mail(act.value, user.pk, "")
