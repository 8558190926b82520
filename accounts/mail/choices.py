"""Mails that people choose, and the link in each that ends them with one click (RFC 8058)."""

from collections.abc import Iterable

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
    MailKind.MENTIONS: _("Posts and comments that name you, when you have not read them soon"),
    MailKind.DIGEST: _("Once a week: what is new, if there is something"),
}
WEEK_MS = 7 * 86_400_000


def names_of(kinds: int) -> list[str]:
    """Return the names of some kinds, given as bits."""
    return [kind.label for kind in MailKind if kinds & kind]


def bits_of(names: Iterable[str]) -> int:
    """Return the bits of some kinds by their names. Raises KeyError."""
    by_name = {kind.label: int(kind) for kind in MailKind}
    return sum({by_name[name] for name in names})


def digest_after(user_id: int, now: int) -> int:
    """Return when the next digest of a person is due (Unix ms): at their own time of the week."""
    due = now - now % WEEK_MS + user_id % WEEK_MS
    return due if due > now else due + WEEK_MS


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
