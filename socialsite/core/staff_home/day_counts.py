"""Numbers by UTC day, stored once the day is over: a nightly task counts, pages only read.

A stored number never changes, so a second run changes nothing. A run also counts the days before
that have no number, as far back as DAYS. A `Kind` that cannot count a past day returns None; the
day then has no number.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from django.utils.functional import Promise

from socialsite.core import db
from socialsite.core.db import replicas
from socialsite.core.models import DayCount

logger = logging.getLogger(__name__)

DAYS = 30
# The task runs a minute after midnight; a later run does not know who was there on the day before.
GRACE = timedelta(hours=1)


class Span(NamedTuple):
    """A UTC day from `start` to `end` (exclusive), counted at `now`."""

    start: datetime
    end: datetime
    now: datetime

    @property
    def start_ms(self) -> int:
        """The start as Unix time in ms."""
        return round(self.start.timestamp() * 1000)

    @property
    def end_ms(self) -> int:
        """The end as Unix time in ms."""
        return round(self.end.timestamp() * 1000)

    @property
    def is_just_over(self) -> bool:
        """True within an hour after the day."""
        return self.now - self.end < GRACE


class Kind(NamedTuple):
    """A number by day: its name in the table, its title, and how a day is counted."""

    name: str
    title: Promise
    number_of: Callable[[Span], int | None]


def days_before(today: date) -> list[date]:
    """Return the last DAYS days that are over, the oldest first."""
    return [today - timedelta(days=back) for back in range(DAYS, 0, -1)]


def fill(kinds: Sequence[Kind]) -> int:
    """Count the days that have no number; return how many numbers were stored."""
    now = datetime.fromtimestamp(db.now_ms() / 1000, UTC)
    days = days_before(now.date())
    known = numbers([kind.name for kind in kinds], days)
    wanted = [(kind, day) for kind in kinds for day in days if day not in known[kind.name]]
    rows = replicas.read_for_task(_count, wanted, now) if wanted else []
    stored = sum(db.insert_once(row) for row in rows)
    logger.info("stored %d numbers of days", stored)
    return stored


def _count(wanted: Sequence[tuple[Kind, date]], now: datetime) -> list[DayCount]:
    """Return the numbers of these days, as far as they can be counted."""
    found = ((kind, day, kind.number_of(_span(day, now))) for kind, day in wanted)
    return [
        DayCount(kind=kind.name, day=day, number=number)
        for kind, day, number in found
        if number is not None
    ]


def numbers(names: Collection[str], days: Sequence[date]) -> dict[str, dict[date, int]]:
    """Return name → day → number, in one query; `days` are in order. Unknown days are missing."""
    rows = DayCount.objects.filter(kind__in=names, day__range=(days[0], days[-1]))
    found: dict[str, dict[date, int]] = {name: {} for name in names}
    for kind, day, number in rows.values_list("kind", "day", "number"):
        found[kind][day] = number
    return found


def _span(day: date, now: datetime) -> Span:
    start = datetime.combine(day, time(), UTC)
    return Span(start, start + timedelta(days=1), now)
