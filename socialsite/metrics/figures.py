"""Figures about unfinished work and regular checks, read at each scrape.

They are no instruments (`core.telemetry.instruments`): a process would keep those in its file, and
go on showing what it once read.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from accounts import addresses
from feeds.audit import verify
from feeds.discovery.search import drift as search_drift
from feeds.models import FanOut, FanOutChunk
from interactions.actions import recount as interactions
from relations.counters import counts, recount
from socialsite.core import db
from socialsite.core.events import relay
from socialsite.core.events.stream import waiting
from socialsite.core.media import disk_space
from socialsite.core.media.videos import failures
from socialsite.core.media.videos import queries as videos_queries
from socialsite.core.models import Event
from socialsite.core.runtime import logs
from socialsite.doctor import backups, reports

logger = logging.getLogger(__name__)


def collect() -> Iterator[Metric]:
    """Read all figures; without the database those that do without it."""
    found = list[Metric]()
    try:
        found = list(_of_database())
    except (OperationalError, InterfaceError) as error:
        if not (isinstance(error, InterfaceError) or logs.is_outage(error)):
            raise
        logger.warning("the database does not answer /metrics: %s", error)
    text = "1 while the database answers the process that was asked"
    yield GaugeMetricFamily("socialsite_database_answers", text, bool(found))
    yield from found
    yield from _disk()
    yield from _backup()
    yield from _doctor()


def _of_database() -> Iterator[Metric]:
    """Read the figures of the database."""
    yield from _gauges(
        {
            "socialsite_event_lag_seconds": (
                "age of the oldest event that is not delivered",
                relay.lag_ms() / 1000,
            ),
            "socialsite_events_waiting": (
                "events that are not delivered",
                Event.objects.filter(dead=False).count(),
            ),
            "socialsite_events_dead": (
                "events that failed too often and wait for a person",
                Event.objects.filter(dead=True).count(),
            ),
            "socialsite_stream_lag_seconds": (
                "age of the oldest record that is not in the change stream",
                waiting.lag_seconds(),
            ),
            "socialsite_stream_records_waiting": (
                "records that are not in the change stream",
                waiting.count(),
            ),
            "socialsite_fanouts_open": (
                "posts that are not in all inboxes yet",
                FanOut.objects.filter(state__lt=FanOut.State.DONE).count(),
            ),
            "socialsite_fanout_chunks_open": (
                "chunks of fan-outs that are not delivered",
                FanOutChunk.objects.filter(done=False).count(),
            ),
            "socialsite_ip_addresses_overdue_seconds": (
                "how long ago the oldest IP address should have been erased; 0: none is due",
                addresses.overdue_seconds(),
            ),
            "socialsite_database_read_only": (
                "1 while the database refuses writes, as before its disk is full",
                db.is_read_only(),
            ),
        }
    )
    yield from _count_drift()
    yield from _interaction_drift()
    yield from _feed_differences()
    yield from _search_drift()
    yield from _videos()


def _gauges(figures: Mapping[str, tuple[str, float]]) -> Iterator[Metric]:
    """Yield gauges without labels, of their texts and values by name."""
    for name, (text, value) in figures.items():
        yield GaugeMetricFamily(name, text, value)


def labelled(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return a gauge with a value for each value of one label."""
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        gauge.add_metric([key], value)
    return gauge


def _count_drift() -> Iterator[Metric]:
    """Yield the result of the newest check of relation counters; nothing before the first check."""
    check = recount.last()
    if check is None:
        return
    text = "how far counters of relations are off, summed over people, by the last check"
    values = {name: 0 if check.fixed else getattr(check, name) for name in counts.BITS}
    yield labelled("socialsite_relation_count_drift", text, "counter", values)
    text = "when the counters of relations were checked last, Unix time"
    finished = check.finished_at / 1000
    yield GaugeMetricFamily("socialsite_relation_counts_checked_seconds", text, finished)


def _interaction_drift() -> Iterator[Metric]:
    """Yield the result of the newest check of interaction counts; nothing before the first check.

    Counts that it fixed are included: the check of the next night should find nothing.
    """
    check = interactions.last()
    if check is None:
        return
    text = "how far counts of posts, comments and reports were off at the last check, summed"
    values = {name: check.drift.get(name, 0) for name in interactions.COUNTERS}
    yield labelled("socialsite_interaction_count_drift", text, "counter", values)
    text = "when the counts of interactions were checked last, Unix time"
    finished = check.finished_at / 1000
    yield GaugeMetricFamily("socialsite_interaction_counts_checked_seconds", text, finished)


def _feed_differences() -> Iterator[Metric]:
    """Yield the result of the newest check of home feeds; nothing before the first check."""
    check = verify.last()
    if check is None:
        return
    figures = {
        "socialsite_feed_differences": (
            "posts that were missing from home feeds, or wrong there, by the last check",
            check.differences,
        ),
        "socialsite_feed_viewers_verified": (
            "people whose home feeds the last check looked at",
            check.viewers,
        ),
        "socialsite_feeds_verified_seconds": (
            "when home feeds were checked last, Unix time",
            check.finished_at / 1000,
        ),
    }
    yield from _gauges(figures)


def _search_drift() -> Iterator[Metric]:
    """Yield the result of the newest check of the search index; nothing before the first check."""
    check = search_drift.last()
    if check is None:
        return
    figures = {
        "socialsite_search_drift": ("posts that the search index had wrong", check.wrong),
        "socialsite_search_posts_checked": ("posts that the last check looked at", check.posts),
        "socialsite_search_checked_seconds": (
            "when the search index was checked last, Unix time",
            check.finished_at / 1000,
        ),
    }
    yield from _gauges(figures)


def _videos() -> Iterator[Metric]:
    """Yield the queue of videos that wait to be converted, and the failures of the last day."""
    text = "age of the oldest uploaded video that is not prepared"
    waiting, age_ms = videos_queries.waiting()
    yield GaugeMetricFamily("socialsite_video_lag_seconds", text, age_ms / 1000)
    text = "uploaded videos that are not prepared"
    yield GaugeMetricFamily("socialsite_videos_waiting", text, waiting)
    text = "uploaded videos that failed within the last day, by the reason"
    failed = videos_queries.failed_since_yesterday()
    values = {reason: failed.get(reason, 0) for reason in failures.TEXTS}
    yield labelled("socialsite_videos_failed", text, "reason", values)


def _disk() -> Iterator[Metric]:
    """Yield the free share of the disk of pictures, as this process sees it."""
    text = "share of the disk of MEDIA_ROOT that is free, 0 to 1"
    yield GaugeMetricFamily("socialsite_media_disk_free_ratio", text, disk_space.free_share())
    text = "1 while uploads are refused because that is below MEDIA_MIN_FREE_PERCENT"
    yield GaugeMetricFamily("socialsite_uploads_refused_disk_full", text, disk_space.is_disk_full())


def _backup() -> Iterator[Metric]:
    """Yield when the newest back-up of this machine was made; nothing before the first one."""
    try:
        newest = backups.newest(Path(settings.DATA_DIR))
    except (OSError, backups.BadStatus) as error:
        logger.warning("the age of the newest back-up is not known: %s", error)
        return
    if newest is None:
        return
    figures = {
        "socialsite_backup_finished_seconds": (
            "when the newest back-up ended, Unix time",
            newest.finished_at.timestamp(),
        ),
        "socialsite_backup_verified_seconds": (
            "when one was read back, Unix time; 0: never",
            newest.verified_at.timestamp() if newest.verified_at else 0,
        ),
    }
    yield from _gauges(figures)
    if newest.copied_until:
        text = "up to when the log of later writes is copied, Unix time"
        moment = newest.copied_until.timestamp()
        yield GaugeMetricFamily("socialsite_backup_copied_until_seconds", text, moment)


def _doctor() -> Iterator[Metric]:
    """Yield what the last checks of this machine found; nothing before the first ones."""
    summary = reports.last()
    if summary is None:
        return
    figures = {
        "socialsite_doctor_errors": ("errors that the last checks found", summary.errors),
        "socialsite_doctor_warnings": ("warnings of the last checks", summary.warnings),
        "socialsite_doctor_finished_seconds": (
            "when the last checks were made, Unix time",
            summary.made_at / 1000,
        ),
    }
    yield from _gauges(figures)
