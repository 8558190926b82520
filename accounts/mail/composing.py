"""The parts that all mails have: the sender, addresses of pages, paragraphs."""

from email.utils import formataddr, parseaddr

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from socialsite.core import site


def address_of(page: str, *args: str) -> str:
    """Return the address of a page."""
    return settings.SITE_URL + reverse(page, args=args)


def _sender() -> str:
    """Return the sender: EMAIL_FROM with its own name, or with that of the site."""
    name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return formataddr((name or site.current().name, address))


def mail_to(to: str, subject: str, *paragraphs: str, **values: str) -> EmailMessage:
    """Return a mail; fills in `%(site)s` and the given values in its paragraphs."""
    values["site"] = settings.SITE_URL
    filled = [part % values if "%(" in part else part for part in paragraphs]
    return EmailMessage(
        subject=subject,
        from_email=_sender(),
        body="\n\n".join(filled) + "\n",
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )
