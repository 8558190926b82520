"""Scheduled work: each periodic task, its time, and the seconds after which a message is void."""

from datetime import timedelta
from typing import Any

from celery.schedules import crontab

TASKS: dict[str, dict[str, Any]] = {
    # A hint that no worker took in time is worthless: the next one follows.
    "relay-events": {
        "task": "core.relay_events",
        "schedule": timedelta(seconds=5),
        "options": {"expires": 5},
    },
    "sweep-fanouts": {
        "task": "feeds.sweep_fanouts",
        "schedule": timedelta(seconds=5),
        "options": {"expires": 5},
    },
    "purge-fanouts": {"task": "feeds.purge_fanouts", "schedule": timedelta(hours=1)},
    "fold-notifications": {
        "task": "interactions.fold_notifications",
        "schedule": timedelta(seconds=2),
        "options": {"expires": 2},
    },
    "prune-notifications": {
        "task": "interactions.prune_notifications",
        "schedule": crontab(hour=4, minute=0),
        "options": {"expires": 3600},
    },
    "trim-inboxes": {
        "task": "feeds.trim_inboxes",
        "schedule": crontab(hour=4, minute=30),
        "options": {"expires": 3600},
    },
    "erase-addresses": {"task": "accounts.erase_addresses", "schedule": timedelta(hours=1)},
    "purge-attempts": {"task": "accounts.purge_attempts", "schedule": timedelta(hours=1)},
    "purge-allowances": {"task": "core.purge_allowances", "schedule": timedelta(hours=1)},
    "check-counts": {
        "task": "relations.check_counts",
        "schedule": crontab(hour=3, minute=30),
        "options": {"expires": 3600},
    },
    "check-interaction-counts": {
        "task": "interactions.check_counts",
        "schedule": crontab(hour=3, minute=45),
        "options": {"expires": 3600},
    },
    "verify-feeds": {
        "task": "feeds.verify_feeds",
        "schedule": crontab(hour=4, minute=30),
        "options": {"expires": 3600},
    },
    "sweep-media": {
        "task": "core.sweep_media",
        "schedule": crontab(hour=5, minute=0),
        "options": {"expires": 3600},
    },
    "purge-idempotency-keys": {
        "task": "core.purge_idempotency_keys",
        "schedule": timedelta(hours=1),
    },
}
