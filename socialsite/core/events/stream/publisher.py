"""The publisher of the change stream: append waiting records by id, then delete exactly these.

One publisher works at a time, by a lock of the database that ends with the connection. The lock
only saves repeats. If it is lost, two publishers append the same records, each of them from the
lowest one that waits and in the order of ids. So the first copy of each record is in order.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

from django.conf import settings

from socialsite.core import db
from socialsite.core.events import stream
from socialsite.core.models import StreamRecord
from socialsite.core.runtime.failpoints import failpoint
from socialsite.core.runtime.stream_settings import StreamAddress
from socialsite.core.telemetry.instruments import STREAM_RECORDS

logger = logging.getLogger(__name__)

BATCH = 200
# Per call; the schedule starts the next one.
MOST = 20_000
# After a failure the hints of commits are ignored for a moment, so that a broker that hangs does
# not keep the threads of workers.
PAUSE_SECONDS = 3.0
_open: stream.Stream | None = None
_quiet_until = 0.0
_lock = threading.Lock()


def publish_waiting(most: int = MOST) -> int:
    """Append the records that wait to the stream; return how many.

    Does nothing without a broker, while another publisher works, or shortly after a failure.
    """
    global _quiet_until
    done, address = 0, settings.EVENT_STREAM
    if address is None or not address.has_publisher:
        return done
    # Records may be written between the last read and the end of the lock, when their own hint
    # finds the lock taken.
    while done < most and time.monotonic() >= _quiet_until and StreamRecord.objects.exists():
        with _alone() as is_alone:
            if not is_alone:
                break
            try:
                done += _publish(address, most - done)
            except stream.StreamDown as error:
                _disconnect()
                _quiet_until = time.monotonic() + PAUSE_SECONDS
                logger.warning("change stream unavailable; its records wait: %s", error)
    return done


def _publish(address: StreamAddress, most: int) -> int:
    done = 0
    while rows := list(StreamRecord.objects.order_by("pk")[: min(BATCH, most - done)]):
        _connected(address).append([_record(row) for row in rows])
        failpoint("stream-appended")
        StreamRecord.objects.filter(pk__in=[row.pk for row in rows]).delete()
        STREAM_RECORDS.inc(len(rows))
        done += len(rows)
    return done


def _record(row: StreamRecord) -> stream.Record:
    return stream.Record(
        row.pk, row.type, row.aggregate_type, row.aggregate_id, row.created_at, row.payload
    )


def _connected(address: StreamAddress) -> stream.Stream:
    global _open
    if _open is None:
        _open = stream.connect(address, settings.EVENT_STREAM_HOURS)
    return _open


def _disconnect() -> None:
    global _open
    if _open is not None:
        with contextlib.suppress(stream.StreamDown):
            _open.close()
    _open = None


@contextlib.contextmanager
def _alone() -> Iterator[bool]:
    """Take the lock of publishers; yield False if another one has it."""
    if not _lock.acquire(blocking=False):  # another thread, which uses the connection
        yield False
        return
    try:
        with db.named_lock("stream") as is_alone:
            yield is_alone
    finally:
        _lock.release()
