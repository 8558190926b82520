"""Figures about unfinished work and regular checks, read from the database at each scrape."""

import logging
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from prometheus_client import CollectorRegistry, Gauge

from accounts import addresses
from feeds.audit import verify
from feeds.discovery.search import drift as search_drift
from feeds.models import FanOut, FanOutChunk
from interactions.actions import recount as interactions
from relations.counters import counts, recount
from socialsite.core import db
from socialsite.core.events import relay
from socialsite.core.media import disk_space
from socialsite.core.media.videos import failures
from socialsite.core.media.videos import queries as videos_queries
from socialsite.core.models import Event
from socialsite.doctor import backups

logger = logging.getLogger(__name__)


def add(registry: CollectorRegistry) -> None:
    """Read all figures and add them to a registry."""
    figures = {
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
    _set(registry, figures)
    _count_drift(registry)
    _interaction_drift(registry)
    _feed_differences(registry)
    _search_drift(registry)
    _videos(registry)
    _disk(registry)
    _backup(registry)


def _set(registry: CollectorRegistry, figures: Mapping[str, tuple[str, float]]) -> None:
    """Add gauges without labels: their texts and values by name."""
    for name, (text, value) in figures.items():
        Gauge(name, text, registry=registry).set(value)


def _count_drift(registry: CollectorRegistry) -> None:
    """Add the result of the newest check of relation counters; nothing before the first check."""
    check = recount.last()
    if check is None:
        return
    text = "how far counters of relations are off, summed over people, by the last check"
    drift = Gauge("socialsite_relation_count_drift", text, ["counter"], registry=registry)
    for name in counts.BITS:
        drift.labels(name).set(0 if check.fixed else getattr(check, name))
    text = "when the counters of relations were checked last, Unix time"
    checked = Gauge("socialsite_relation_counts_checked_seconds", text, registry=registry)
    checked.set(check.finished_at / 1000)


def _interaction_drift(registry: CollectorRegistry) -> None:
    """Add the result of the newest check of interaction counts; nothing before the first check.

    Counts that it fixed are included: the check of the next night should find nothing.
    """
    check = interactions.last()
    if check is None:
        return
    text = "how far counts of posts, comments and reports were off at the last check, summed"
    drift = Gauge("socialsite_interaction_count_drift", text, ["counter"], registry=registry)
    for name in interactions.COUNTERS:
        drift.labels(name).set(check.drift.get(name, 0))
    text = "when the counts of interactions were checked last, Unix time"
    checked = Gauge("socialsite_interaction_counts_checked_seconds", text, registry=registry)
    checked.set(check.finished_at / 1000)


def _feed_differences(registry: CollectorRegistry) -> None:
    """Add the result of the newest check of home feeds; nothing before the first check."""
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
    _set(registry, figures)


def _search_drift(registry: CollectorRegistry) -> None:
    """Add the result of the newest check of the search index; nothing before the first check."""
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
    _set(registry, figures)


def _videos(registry: CollectorRegistry) -> None:
    """Add the queue of videos that wait to be converted, and the failures of the last day."""
    text = "age of the oldest uploaded video that is not prepared"
    waiting, age_ms = videos_queries.waiting()
    Gauge("socialsite_video_lag_seconds", text, registry=registry).set(age_ms / 1000)
    text = "uploaded videos that are not prepared"
    Gauge("socialsite_videos_waiting", text, registry=registry).set(waiting)
    text = "uploaded videos that failed within the last day, by the reason"
    failed = Gauge("socialsite_videos_failed", text, ["reason"], registry=registry)
    counts = videos_queries.failed_since_yesterday()
    for reason in failures.TEXTS:
        failed.labels(reason).set(counts.get(reason, 0))


def _disk(registry: CollectorRegistry) -> None:
    """Add the free share of the disk of pictures, as this process sees it."""
    text = "share of the disk of MEDIA_ROOT that is free, 0 to 1"
    Gauge("socialsite_media_disk_free_ratio", text, registry=registry).set(disk_space.free_share())
    text = "1 while uploads are refused because that is below MEDIA_MIN_FREE_PERCENT"
    refused = Gauge("socialsite_uploads_refused_disk_full", text, registry=registry)
    refused.set(disk_space.is_disk_full())


def _backup(registry: CollectorRegistry) -> None:
    """Add when the newest back-up of this machine was made; nothing before the first one."""
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
    _set(registry, figures)
    if newest.copied_until:
        text = "up to when the log of later writes is copied, Unix time"
        copied = Gauge("socialsite_backup_copied_until_seconds", text, registry=registry)
        copied.set(newest.copied_until.timestamp())
