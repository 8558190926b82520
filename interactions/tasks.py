"""Celery entry points of interactions; every message is a hint, the work is in the database."""

from celery import shared_task

from interactions import recount
from interactions.notifying import fold, retention


@shared_task(name="interactions.fold_notifications")
def fold_notifications() -> None:
    """Fold what is due of readers who have no page open, and what others left."""
    while fold.sweep():
        pass


@shared_task(name="interactions.prune_notifications")
def prune_notifications() -> None:
    """Forget old notifications."""
    while retention.prune():
        pass


@shared_task(name="interactions.check_counts")
def check_counts() -> None:
    """Hold the counts to their rows, and mend what is off."""
    recount.run(fix=True)
