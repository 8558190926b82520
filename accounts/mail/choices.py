"""Mails that people choose, and the link in each that ends them with one click (RFC 8058)."""

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.urls import reverse
from django.utils.html import format_html, urlize
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import MailKind, User
from socialsite.core.errors import WrongLink

SALT = "accounts.mail.choices"
TITLES = {
    MailKind.SIGN_INS: _("Sign-ins on a device that you did not use before"),
}


def wants(user: User, kind: MailKind) -> bool:
    """Return whether a person has an address and wants mails of a kind there."""
    return bool(user.email and user.mails & kind)


def token_of(user: User, kind: MailKind) -> str:
    """Return a token that ends mails of a kind; it is valid for ever, and does nothing else."""
    return signing.dumps([user.pk, int(kind)], salt=SALT)


def read(token: str) -> tuple[int, MailKind]:
    """Return the person and the kind of a token. Raises WrongLink."""
    try:
        user_id, kind = signing.loads(token, salt=SALT)
        return user_id, MailKind(kind)
    except (signing.BadSignature, ValueError):
        raise WrongLink from None


def with_ending(message: EmailMessage, user: User, kind: MailKind) -> EmailMessage:
    """Return a mail also as HTML, and with a way to end mails of its kind."""
    end = settings.SITE_URL + reverse("end_mails", args=[token_of(user, kind)])
    text, footer = str(message.body), gettext("No more mails of this kind:")
    parts = [f"<p>{urlize(part, autoescape=True)}</p>" for part in text.strip().split("\n\n")]
    page = format_html('<hr><p>{} <a href="{}">{}</a></p>', footer, end, gettext("unsubscribe"))
    found = EmailMultiAlternatives(
        subject=message.subject,
        body=f"{text}\n-- \n{footer}\n{end}\n",
        from_email=message.from_email,
        to=message.to,
        headers={
            **message.extra_headers,
            "List-Unsubscribe": f"<{end}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )
    found.attach_alternative("".join(parts).replace("\n", "<br>") + page, "text/html")
    return found
