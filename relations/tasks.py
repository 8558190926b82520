"""Celery entry points of relations."""

import logging

from celery import shared_task

from relations import recount

logger = logging.getLogger(__name__)


@shared_task(name="relations.check_counts")
def check_counts() -> None:
    """Hold the counters against the facts; a person mends them with `manage.py recount --fix`."""
    try:
        recount.run()
    except recount.AlreadyRunning as error:
        logger.info("counters are not checked: %s", error)
