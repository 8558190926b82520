"""Scheduled work: each periodic task, its time, and the seconds after which a message is void."""

from datetime import timedelta
from typing import Any

from celery.schedules import crontab


def _often(task: str, seconds: int) -> dict[str, Any]:
    """Run a task every few seconds. A message that no worker took is void when the next is sent."""
    every = timedelta(seconds=seconds)
    return {"task": task, "schedule": every, "options": {"expires": seconds}}


def _nightly(task: str, hour: int, minute: int) -> dict[str, Any]:
    """Run a task once a night (UTC); a night that no worker saw is made up for at the next start.

    A message that no worker took within an hour is void.
    """
    at = crontab(hour=hour, minute=minute)
    return {"task": task, "schedule": at, "options": {"expires": 3600}}


TASKS: dict[str, dict[str, Any]] = {
    "relay-events": _often("core.relay_events", 5),
    "sweep-fanouts": _often("feeds.sweep_fanouts", 5),
    "publish-due-drafts": _often("feeds.publish_due_drafts", 5),
    "end-polls": _often("feeds.end_polls", 5),
    "fetch-previews": _often("feeds.fetch_previews", 5),
    "start-conversions": _often("core.start_conversions", 5),
    "start-exports": _often("site.start_exports", 5),
    "start-imports": _often("site.start_imports", 5),
    "purge-previews": {"task": "feeds.purge_previews", "schedule": timedelta(hours=1)},
    "purge-fanouts": {"task": "feeds.purge_fanouts", "schedule": timedelta(hours=1)},
    "rank-posts": _often("interactions.rank_posts", 300),
    "rank-tags": _often("feeds.rank_tags", 300),
    "purge-tags": _nightly("feeds.purge_tags", 5, 15),
    "fold-notifications": _often("interactions.fold_notifications", 2),
    "send-digests": _often("interactions.send_digests", 300),
    "trim-inboxes": _nightly("feeds.trim_inboxes", 4, 30),
    "erase-addresses": {"task": "accounts.erase_addresses", "schedule": timedelta(hours=1)},
    "purge-attempts": {"task": "accounts.purge_attempts", "schedule": timedelta(hours=1)},
    "erase-closed": _often("accounts.erase_closed", 10),
    "apply-retention": _nightly("site.apply_retention", 3, 40),
    "purge-allowances": {"task": "core.purge_allowances", "schedule": timedelta(hours=1)},
    # Soon after midnight, while it is known who was there on the day before.
    "count-days": _nightly("site.count_days", 0, 1),
    "refresh-suggestions": _nightly("relations.refresh_suggestions", 2, 30),
    "check-counts": _nightly("relations.check_counts", 3, 30),
    "check-interaction-counts": _nightly("interactions.check_counts", 3, 45),
    "verify-feeds": _nightly("feeds.verify_feeds", 4, 30),
    "check-search": _nightly("feeds.check_search", 4, 45),
    "sweep-media": _nightly("core.sweep_media", 5, 0),
    "purge-idempotency-keys": {
        "task": "core.purge_idempotency_keys",
        "schedule": timedelta(hours=1),
    },
}
# Of a site with a change stream.
STREAM = {"publish-stream": _often("core.publish_stream", 5)}
