"""Records that wait for the publisher of the change stream: written with their facts."""

import time
from typing import TYPE_CHECKING

from django.db import transaction

from socialsite.core import db
from socialsite.core.events import enqueue
from socialsite.core.models import StreamRecord

if TYPE_CHECKING:
    from socialsite.core.events import DomainEvent


def write(event: "DomainEvent", *, is_read_by_publisher: bool) -> None:
    """Write the record of an event in the transaction of its fact.

    Without a publisher the log of the database is read, so the row is deleted at once.
    """
    row = StreamRecord.objects.create(
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        type=type(event).__name__,
        payload=event.stream_payload(),
    )
    if is_read_by_publisher:
        # Robust: the fact is committed, so a failing hint must not fail the request.
        transaction.on_commit(_hurry, robust=True)
    else:
        StreamRecord.objects.filter(pk=row.pk).delete()


def _hurry() -> None:
    enqueue.send("core.publish_stream")


def skip_ids() -> None:
    """Let the ids of later records be far above all that were given out before a restoration.

    The present time in microseconds is: no site writes a million records a second for years. InnoDB
    goes on after the highest id that it saw, also if the row was rolled back.
    """
    with transaction.atomic():
        StreamRecord.objects.create(pk=db.now_ms() * 1000, aggregate_id=0, payload={})
        transaction.set_rollback(True)


def count() -> int:
    """Return how many records are not in the broker."""
    return StreamRecord.objects.count()


def lag_seconds() -> float:
    """Return the age of the oldest record that is not in the broker; 0 if there is none."""
    oldest = StreamRecord.objects.order_by("pk").values_list("created_at", flat=True).first()
    return 0 if oldest is None else max(0, time.time() - oldest.timestamp())
