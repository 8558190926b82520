"""Celery entry points of accounts."""

import logging
from smtplib import SMTPException
from typing import Any

from celery import shared_task

from accounts import attempts, mail

logger = logging.getLogger(__name__)

MAIL_TRIES = 6
MAIL_PAUSE_SECONDS = 10


@shared_task(name="accounts.purge_attempts")
def purge_attempts() -> None:
    """Forget failed attempts of more than a day ago."""
    while attempts.purge():
        pass


@shared_task(name="accounts.send_mail", bind=True, max_retries=MAIL_TRIES - 1)
def send_mail(self: Any, kind: str, user_id: int, address: str, language: str) -> None:
    """Send what a `MailWanted` asked for, again after 10, 20, 40 … s when the server fails."""
    tries = self.request.retries
    try:
        mail.send(kind, user_id, address, language, repeated=tries > 0)
    except (SMTPException, OSError) as error:
        if tries >= MAIL_TRIES - 1:
            logger.error("mail given up after %d tries (%s): %s", tries + 1, kind, error)
            return
        logger.warning("mail failed, to be tried again (%s): %s", kind, error)
        raise self.retry(exc=error, countdown=MAIL_PAUSE_SECONDS * 2**tries) from None
