"""Celery entry points of interactions; every message is a hint, the work is in the database."""

from celery import shared_task

from interactions.actions import recount, rising
from interactions.notifying import digests, fold, push


@shared_task(name="interactions.fold_notifications")
def fold_notifications() -> None:
    """Fold due causes of readers without an open page, and those that other folds left."""
    while fold.sweep():
        pass


@shared_task(name="interactions.send_digests")
def send_digests() -> None:
    """Ask for some of the weekly digests that are due: other mails must not wait for them."""
    digests.send_due()


@shared_task(name="interactions.push")
def push_notifications(
    user_id: int, ids: list[int], devices: list[int] | None = None, tries: int = 0
) -> None:
    """Push notifications of a `PushWanted` event; what could not be sent is published again."""
    push.deliver(user_id, ids, devices, tries)


@shared_task(name="interactions.check_counts")
def check_counts() -> None:
    """Compare the counts with their rows, and fix wrong ones."""
    recount.run(fix=True)


@shared_task(name="interactions.rank_posts")
def rank_posts() -> None:
    """Rank the posts that people react to now."""
    rising.rank()
