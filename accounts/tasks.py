"""Celery entry points of accounts."""

import logging
from smtplib import SMTPException
from typing import Any

from celery import shared_task

from accounts import addresses, attempts, mail

logger = logging.getLogger(__name__)

MAIL_TRIES = 6
# Of a mail that is too much for the whole site: almost three hours.
LATER_TRIES = 11
MAIL_PAUSE_SECONDS = 10


@shared_task(name="accounts.purge_attempts")
def purge_attempts() -> None:
    """Forget failed attempts of more than a day ago."""
    while attempts.purge():
        pass


@shared_task(name="accounts.erase_addresses")
def erase_addresses() -> None:
    """Erase the IP addresses that were stored for IP_DAYS."""
    while addresses.erase_old():
        pass


@shared_task(name="accounts.send_mail", bind=True, max_retries=LATER_TRIES)
def send_mail(
    self: Any, kind: str, user_id: int, address: str, language: str, counted: bool | None = None
) -> None:
    """Send what a `MailWanted` asked for, again after 10, 20, 40 … s when the server fails.

    Also when the site has sent too many mails; `counted` then says that this one was not counted.
    """
    tries = self.request.retries
    repeated = tries > 0 if counted is None else counted
    try:
        mail.send(kind, user_id, address, language, repeated=repeated)
        return
    except (SMTPException, OSError) as error:
        failure: Exception = error
        counted, most, pause = True, MAIL_TRIES, 0
    except mail.Later as error:
        failure = error
        counted, most, pause = False, LATER_TRIES, error.seconds
    if tries >= most - 1:
        logger.error("mail given up after %d tries (%s): %s", tries + 1, kind, failure)
        return
    logger.warning("mail failed, to be tried again (%s): %s", kind, failure)
    pause = max(pause, MAIL_PAUSE_SECONDS * 2**tries)
    raise self.retry(exc=failure, kwargs={"counted": counted}, countdown=pause)
