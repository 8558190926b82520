"""Celery tasks of accounts."""

import logging
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

from celery import shared_task

from accounts import addresses, erasing
from accounts.events import MailWanted
from accounts.mail import messages
from accounts.sign_in import attempts
from socialsite.core import db
from socialsite.core.events import publish
from socialsite.core.ids import new_id

logger = logging.getLogger(__name__)

MAIL_TRIES = 6
# Tries for a mail beyond the site's budget: almost three hours.
LATER_TRIES = 11
MAIL_PAUSE_SECONDS = 10


@shared_task(name="accounts.purge_attempts")
def purge_attempts() -> None:
    """Delete failed attempts that are more than a day old."""
    while attempts.purge():
        pass


@shared_task(name="accounts.erase_addresses")
def erase_addresses() -> None:
    """Erase IP addresses older than IP_DAYS."""
    while addresses.erase_old():
        pass


@shared_task(name="accounts.erase_closed")
def erase_closed() -> None:
    """Erase closed accounts whose time has come, for some seconds; the next run goes on."""
    erasing.work_off()


@shared_task(name="accounts.send_mail")
def send_mail(
    kind: str,
    user_id: int,
    address: str,
    language: str,
    tries: int = 0,
    counted: bool = False,
    detail: list[int] | None = None,
) -> None:
    """Send the mails of a `MailWanted` event; retry after 10, 20, 40 … s when the server fails.

    It also retries when the site's mail budget is used up. A waiting mail is in the outbox, not in
    a worker's memory, where a restart would lose it.
    """
    try:
        messages.send(kind, user_id, address, language, counted=counted, detail=detail or ())
        return
    except (SMTPException, OSError) as error:
        failure: Exception = error
        # Waiting for the site's budget used none of the tries at the mail server.
        tries, counted, most, pause = tries if counted else 0, True, MAIL_TRIES, 0
    except messages.Later as error:
        failure, most, pause = error, LATER_TRIES, error.seconds
    tries += 1
    if tries >= most:
        logger.error("mail given up after %d tries (%s): %s", tries, kind, _cause(failure))
        return
    logger.warning("mail failed; retrying (%s): %s", kind, _cause(failure))
    again = MailWanted(new_id(), kind, user_id, address, language, tries, counted, detail or [])
    _postpone(again, max(pause, MAIL_PAUSE_SECONDS * 2 ** (tries - 1)))


def _cause(failure: Exception) -> str:
    """Return why a mail failed; a server's own words may contain the address."""
    if isinstance(failure, SMTPRecipientsRefused):
        codes = sorted({code for code, _words in failure.recipients.values()})
        return f"the server refused the recipient: {codes}"
    if isinstance(failure, SMTPResponseException):
        return f"{type(failure).__name__} {failure.smtp_code}"
    return str(failure)


@db.atomic
def _postpone(event: MailWanted, seconds: int) -> None:
    publish(event, after_seconds=seconds)
