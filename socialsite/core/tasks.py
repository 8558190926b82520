"""Celery entry points of the core."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from socialsite.core.events import relay
from socialsite.core.events.stream import publisher
from socialsite.core.media import references
from socialsite.core.media.videos import jobs, parts
from socialsite.core.models import IdempotencyKey
from socialsite.core.rate_limits import allowances

logger = logging.getLogger(__name__)

IDEMPOTENCY_HOURS = 24
# Per night; the rest waits for the next night.
SWEEPS_MAX = 200


@shared_task(name="core.relay_events")
def relay_events() -> None:
    """Deliver the events that are due."""
    relay.relay()


@shared_task(name="core.publish_stream")
def publish_stream() -> None:
    """Bring the waiting records of the change stream to its broker."""
    publisher.publish_waiting()


@shared_task(name="core.purge_idempotency_keys")
def purge_idempotency_keys() -> None:
    """Drop keys older than a day."""
    limit = timezone.now() - timedelta(hours=IDEMPOTENCY_HOURS)
    IdempotencyKey.objects.filter(created_at__lt=limit).delete()


@shared_task(name="core.purge_allowances")
def purge_allowances() -> None:
    """Drop budgets with a full bucket."""
    while allowances.purge():
        pass


@shared_task(name="core.sweep_media")
def sweep_media() -> None:
    """Remove unused uploads, then compare a part of the files with the tables."""
    after: int | None = 0
    for _ in range(SWEEPS_MAX):
        if after is not None:
            after = references.sweep(after)
    while parts.sweep():
        pass
    jobs.sweep_sources()
    today = timezone.now().date()
    wrong = references.check_public(today)
    if wrong:
        logger.error("%d pictures were wrongly public; they are private now", wrong)
    orphans = references.remove_orphans(today)
    if orphans:
        logger.warning("%d files of uploads were removed, as no row named them", orphans)


@shared_task(name="core.start_conversions")
def start_conversions() -> None:
    """Send a message to the queue of videos if one is due."""
    jobs.start()


@shared_task(name="core.convert_videos")
def convert_videos() -> None:
    """Prepare the videos that are due; a queue of its own has this task."""
    while jobs.work_off():
        pass
