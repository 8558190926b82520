"""The mail server: it is asked for a log-in; a mail is sent only on demand."""

import ipaddress
import smtplib
import ssl
from collections.abc import Iterator
from email.utils import parseaddr
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _

from socialsite.doctor.findings import Finding, error, ok, warning

TIMEOUT_SECONDS = 5
SMTP = "django.core.mail.backends.smtp.EmailBackend"


def mail() -> Iterator[Finding]:
    """Whether mails are sent, the server takes the log-in, and the sender looks real."""
    if settings.EMAIL_BACKEND != SMTP:
        yield warning(
            _("Mails are not sent: no mail server is set."),
            _("Set EMAIL_URL: people cannot confirm addresses or recover passwords now."),
        )
        return
    yield from _sender()
    server: Any = get_connection(timeout=TIMEOUT_SECONDS)
    try:
        server.open()
    except smtplib.SMTPAuthenticationError as reason:
        yield _refused(_("The mail server refuses the log-in: %(reason)s"), reason)
    except ssl.SSLError as reason:
        yield _refused(_("The certificate of the mail server is not valid: %(reason)s"), reason)
    except (OSError, smtplib.SMTPException) as reason:
        yield _refused(_("The mail server does not answer: %(reason)s"), reason)
    else:
        yield ok(_("The mail server %(host)s answers.") % {"host": settings.EMAIL_HOST})
    finally:
        server.close()
    is_secret = settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL
    if settings.EMAIL_HOST_PASSWORD and not is_secret and not _is_here(settings.EMAIL_HOST):
        yield warning(
            _("The password of the mail server is sent without encryption."),
            _("Add ?tls=True (port 587) or ?ssl=True (port 465) to EMAIL_URL."),
        )


def send(address: str) -> Iterator[Finding]:
    """Send one mail to an address."""
    message = EmailMessage(
        _("A test of the mail server"),
        _("%(site)s can send mails.") % {"site": settings.SITE_URL},
        to=[address],
        connection=get_connection(timeout=TIMEOUT_SECONDS),
    )
    try:
        message.send()
    except (OSError, smtplib.SMTPException) as reason:
        yield _refused(_("The mail was not sent: %(reason)s"), reason)
    else:
        yield ok(
            _("A mail to %(address)s was sent.") % {"address": address},
            _("Look whether it arrived, and not among unwanted mails."),
        )


def _sender() -> Iterator[Finding]:
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    if "." not in domain or _is_address(domain):
        yield warning(
            _("The sender of mails has no domain of the internet: %(sender)s.")
            % {"sender": settings.DEFAULT_FROM_EMAIL},
            _("Set EMAIL_FROM to an address at your domain: other servers refuse such mails."),
        )


def _refused(text: str, reason: Exception) -> Finding:
    return error(text % {"reason": reason}, _("Correct EMAIL_URL, or ask who runs the server."))


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
