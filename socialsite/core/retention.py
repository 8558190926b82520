"""How long each kind of personal data is kept: one table for people, tasks and tests.

An app declares its rows in its module `retention`; `socialsite.retention` lists them. `/privacy`
shows the table, a nightly task deletes what it says and reports what is still there, and a test
makes old and young data for every row.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.functional import Promise

logger = logging.getLogger(__name__)

# Data may be this much older before it counts as overdue: the task runs every night.
GRACE = timedelta(days=2)
COUNTED_MAX = 1000


@dataclass(frozen=True, slots=True)
class Kept:
    """A kind of data, and the days that it is kept; 0: it is not stored.

    `old` returns the rows to delete of those that were there before a moment. `delete` deletes some
    of what is too old and returns how many, 0 at the end; None if a task of its own does that.
    """

    name: str
    title: Promise
    days: Callable[[], int]
    old: Callable[[datetime], "Sequence[QuerySet[Any]]"]
    delete: Callable[[], int] | None = None

    def overdue(self) -> int:
        """Return how many rows should be gone, at most COUNTED_MAX."""
        before = timezone.now() - timedelta(days=self.days()) - GRACE
        return sum(rows.order_by()[:COUNTED_MAX].count() for rows in self.old(before))


def apply(kept: Sequence[Kept]) -> None:
    """Delete everything that is too old; one kind that fails does not keep the others."""
    for one in kept:
        try:
            number = 0
            while one.delete is not None and (some := one.delete()):
                number += some
            overdue = one.overdue()
        except Exception:
            logger.exception("old data was not deleted: %s", one.name)
            continue
        if number:
            logger.info("deleted %d old rows: %s", number, one.name)
        if overdue:
            logger.error("%d rows are kept too long: %s", overdue, one.name)


def ms(moment: datetime) -> int:
    """Return a moment as Unix time in ms."""
    return round(moment.timestamp() * 1000)
