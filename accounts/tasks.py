"""Celery entry points of accounts."""

from celery import shared_task

from accounts import attempts


@shared_task(name="accounts.purge_attempts")
def purge_attempts() -> None:
    """Forget failed attempts of more than a day ago."""
    while attempts.purge():
        pass
