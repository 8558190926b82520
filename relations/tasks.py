"""Celery tasks of relations."""

import logging

from celery import shared_task

from relations.counters import recount
from relations.suggestions import candidates

logger = logging.getLogger(__name__)


@shared_task(name="relations.check_counts")
def check_counts() -> None:
    """Check the counters; `manage.py recount --fix` repairs them."""
    try:
        recount.run()
    except recount.AlreadyRunning as error:
        logger.info("counters not checked: %s", error)


@shared_task(name="relations.refresh_suggestions")
def refresh_suggestions() -> None:
    """Compute the suggestions of people who were here lately."""
    while candidates.refresh_old():
        pass
