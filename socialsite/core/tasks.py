"""Celery entry points of the core."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from socialsite.core import relay
from socialsite.core.models import IdempotencyKey

IDEMPOTENCY_HOURS = 24


@shared_task(name="core.relay_events")
def relay_events() -> None:
    """Deliver the events that are due."""
    relay.relay()


@shared_task(name="core.purge_idempotency_keys")
def purge_idempotency_keys() -> None:
    """Drop keys older than a day."""
    limit = timezone.now() - timedelta(hours=IDEMPOTENCY_HOURS)
    IdempotencyKey.objects.filter(created_at__lt=limit).delete()
