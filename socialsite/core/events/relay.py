"""The relay of the event outbox: claim a batch by lease, apply each event once, delete (T21).

Database effects of all handlers of an event commit together with `applied`. Effects outside the
database run after that commit and may repeat. A failed event is retried after growing pauses; after
MAX_ATTEMPTS it is a dead letter and waits for an operator in the admin. An event that only a newer
version of the site knows is left to its processes, for as long as it takes.

A new event that is due alone is applied in the transaction that claims it, which saves a commit. If
that fails, nothing of it remains, and the event is claimed and applied as all others are.
"""

import contextlib
import logging
import secrets
import time
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone

from socialsite.core import db
from socialsite.core.db.compiled import compiled, compiled_update
from socialsite.core.events import DomainEvent, UnknownEvent, registry
from socialsite.core.events.registry import Stage
from socialsite.core.models import Event
from socialsite.core.runtime import request_ids
from socialsite.core.runtime.failpoints import failpoint
from socialsite.core.telemetry import tracing

logger = logging.getLogger(__name__)

BATCH = 20
LEASE_MS = 10_000
MAX_ATTEMPTS = 12
BACKOFF_MS = 500
BACKOFF_MAX_MS = 300_000
UNKNOWN_MS, UNKNOWN_MAX_MS = 2_000, 60_000
# An event older than this is never applied in the transaction of its claim. If its handlers kill
# the process, the attempts must be counted, which only a claim that has committed does.
NEW_SECONDS = 5


def relay(limit: int = 1000) -> int:
    """Deliver due events until none is left or `limit` is reached; return how many were tried."""
    count, done = 0, list[Event]()
    while True:
        claimed, is_applied = _next(min(BATCH, limit - count), done)
        if not claimed:
            return count
        failpoint("relay-claimed")
        done = [event for event in claimed if deliver(event, is_applied=is_applied)]
        count += len(claimed)


def _next(limit: int, done: Sequence[Event]) -> tuple[list[Event], bool]:
    """Claim the next events; return them, and whether their database effects are committed."""
    try:
        return _claim_and_apply(limit, done)
    except UnknownEvent:
        return claim(limit, done), False
    except Exception as error:
        logger.info(
            "an event failed in the transaction of its claim; it is claimed again: %s", error
        )
        return claim(limit, done), False


@db.atomic
def _claim_and_apply(limit: int, done: Sequence[Event]) -> tuple[list[Event], bool]:
    """Claim events, and apply a new event that is due alone; return whether it is applied."""
    rows = claim(limit, done)
    if len(rows) != 1 or not _is_new(rows[0]):
        return rows, False
    with _request_of(rows[0]):
        _handle(rows[0], _event_of(rows[0]))
    return rows, True


def _is_new(row: Event) -> bool:
    age = (timezone.now() - row.created_at).total_seconds()
    return row.attempts == 1 and not row.applied and age < NEW_SECONDS


@db.atomic
def claim(limit: int, done: Sequence[Event] = ()) -> list[Event]:
    """Delete the events that are done, and lease up to `limit` due events to this caller.

    Other callers skip them. One transaction does both, so a batch costs one commit beside those of
    its events.
    """
    if done:
        Event.objects.filter(pk__in=[row.pk for row in done], lease=done[0].lease).delete()
    if limit <= 0:
        return []
    now = db.now_ms()
    rows: list[Event] = _due(now, limit=limit)
    if not rows:
        return rows
    lease = secrets.randbits(62)
    _lease([row.pk for row in rows], lease, now + LEASE_MS)
    for row in rows:
        row.lease, row.attempts = lease, row.attempts + 1
    return sorted(rows, key=lambda row: row.pk)


@compiled
def _due(now: int, *, limit: int) -> "QuerySet[Event]":
    due = Event.objects.filter(dead=False, available_at__lte=now).order_by("available_at", "id")
    return due.select_for_update(skip_locked=True)[:limit]


@compiled_update
def _lease(
    idents: Collection[int], lease: int, until: int
) -> "tuple[QuerySet[Event], dict[str, Any]]":
    values = {"lease": lease, "available_at": until, "attempts": F("attempts") + 1}
    return Event.objects.filter(pk__in=idents), values


def deliver(row: Event, *, is_applied: bool = False) -> bool:
    """Run an event's handlers and return True; on failure schedule a retry and return False.

    With `is_applied` its database effects are committed, and only the others are left. The handlers
    log with the id of the request that published the event.
    """
    with _request_of(row):
        return _deliver(row, is_applied=is_applied)


@contextlib.contextmanager
def _request_of(row: Event) -> Iterator[None]:
    with (
        request_ids.within(row.payload.get(request_ids.PAYLOAD)),
        tracing.span(f"event {row.type}", "CONSUMER"),
    ):
        yield


def _deliver(row: Event, *, is_applied: bool) -> bool:
    try:
        event = _event_of(row)
        has_effects = not is_applied and registry.handlers(type(event), Stage.RELAY)
        if has_effects and not _apply(row, event):
            return False
        failpoint("relay-applied")
        for handler in registry.handlers(type(event), Stage.AFTER):
            handler(event)
    except UnknownEvent as error:
        _tell_once(str(error))
        _leave(row, error)
        return False
    except Exception as error:
        logger.exception("event %s %s failed, attempt %d", row.pk, row.type, row.attempts)
        _postpone(row, error)
        return False
    return True


def _event_of(row: Event) -> DomainEvent:
    event_type = registry.event_types.get(row.type)
    if event_type is None:
        raise UnknownEvent(row.type)
    event: DomainEvent = event_type.from_payload(row.payload)
    return event


@db.atomic
def _apply(row: Event, event: DomainEvent) -> bool:
    """Commit the database effects once; return False if another relay has the lease by now."""
    held: Event | None = _held.first(row.pk, row.lease)
    if held is None:
        return False
    if not held.applied:
        _handle(row, event)
    return True


def _handle(row: Event, event: DomainEvent) -> None:
    """Run the handlers of the relay, in a transaction, and mark the event as applied."""
    handlers = registry.handlers(type(event), Stage.RELAY)
    for handler in handlers:
        handler(event)
    failpoint("relay-handled")
    if handlers:
        _mark_applied(row.pk)


@compiled
def _held(ident: int, lease: int) -> "QuerySet[Event]":
    return Event.objects.select_for_update().filter(pk=ident, lease=lease)


@compiled_update
def _mark_applied(ident: int) -> "tuple[QuerySet[Event], dict[str, Any]]":
    return Event.objects.filter(pk=ident), {"applied": True}


@lru_cache(maxsize=100)
def _tell_once(what: str) -> None:
    """Log what waits, once in a process: after a roll-back there may be thousands, for days."""
    logger.warning("events wait for a newer version of the site: %s", what)


def _leave(row: Event, error: Exception) -> None:
    """Make an event due again for others, as if this process had not claimed it."""
    age = int((timezone.now() - row.created_at).total_seconds() * 1000)
    pause = min(max(UNKNOWN_MS, age // 10), UNKNOWN_MAX_MS)
    Event.objects.filter(pk=row.pk, lease=row.lease).update(
        available_at=db.now_ms() + pause,
        attempts=F("attempts") - 1,
        error=f"waits for a newer version of the site: {error}",
    )


def _postpone(row: Event, error: Exception) -> None:
    pause = min(BACKOFF_MS * 2 ** (row.attempts - 1), BACKOFF_MAX_MS)
    Event.objects.filter(pk=row.pk, lease=row.lease).update(
        available_at=db.now_ms() + pause,
        dead=row.attempts >= MAX_ATTEMPTS,
        error=f"{type(error).__name__}: {error}"[:2000],
    )


def revive(rows: "QuerySet[Event]") -> int:
    """Make dead events due again; return how many."""
    return int(rows.filter(dead=True).update(dead=False, attempts=0, available_at=0))


def lag_ms() -> int:
    """Return the age in ms of the oldest event that is not done; 0 if there is none."""
    alive = Event.objects.filter(dead=False)
    oldest = alive.order_by("created_at").values_list("created_at", flat=True).first()
    return 0 if oldest is None else max(0, int(time.time() * 1000 - oldest.timestamp() * 1000))
