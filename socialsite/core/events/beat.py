"""The schedule in every worker: of all workers, exactly one sends each task that is due.

- The table `ScheduledRun` stores when each entry ran last, by the clock of the database. A worker
  claims a run by replacing this time with the present one; the database lets one worker do so.
- No worker leads, so no lease expires: if a worker is killed, another one claims the next run.
- If the broker takes no message, the claim is undone and repeated a moment later. A worker that is
  killed between claim and message loses this one run.
"""

import copy
import logging
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from celery import beat
from django.db import close_old_connections

from socialsite.core import db
from socialsite.core.events import enqueue
from socialsite.core.models import ScheduledRun

logger = logging.getLogger(__name__)

RETRY_SECONDS = 3.0
WAIT_MIN, WAIT_MAX = 0.05, 5.0
HOUR_SECONDS = 3600.0
# What every process that reads the schedule does for its own machine, at its start and hourly.
OF_EACH_MACHINE: list[Callable[[], object]] = []


class SharedScheduler(beat.Scheduler):
    """Celery's schedule, whose times are rows of the database instead of attributes."""

    _look_at = float("-inf")

    def setup_schedule(self) -> None:
        """Read the entries of the settings and make them use the database's clock."""
        super().setup_schedule()
        self._now = datetime.now(UTC)
        entry: Any  # the stubs say that an entry may have no schedule
        for entry in self.schedule.values():
            entry.schedule = copy.copy(entry.schedule)
            entry.schedule.nowfun = lambda: self._now

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; return the seconds until the next call. Logs errors of the database."""
        close_old_connections()
        try:
            self._look_after_machine()
            return self._send_due()
        except Exception:
            # The thread must not end: it is the only one of this process that reads the schedule.
            logger.exception("schedule not read; trying again in %s s", RETRY_SECONDS)
            return RETRY_SECONDS

    def _look_after_machine(self) -> None:
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + HOUR_SECONDS
            for look in OF_EACH_MACHINE:
                look()

    def _send_due(self) -> float:
        last_runs, now = _last_runs(self.schedule), db.now_ms()
        self._now = _time(now)
        waits = [WAIT_MAX]
        entry: Any
        for name, entry in self.schedule.items():
            last = last_runs[name]
            is_due, wait = entry.schedule.is_due(_time(last))
            # A time in the future is left from a clock that was wrong.
            if (is_due or last > now) and _claim(name, last, now) and not _send(entry):
                _claim(name, now, last)
                wait = RETRY_SECONDS
            waits.append(wait)
        return max(WAIT_MIN, min(waits))


def _send(entry: Any) -> bool:
    """Send the task of an entry; return False if the broker cannot take it now."""
    return enqueue.send_before(entry.task, entry.options.get("expires"))


def _last_runs(names: Iterable[str]) -> dict[str, int]:
    """Return the times of the last runs in Unix ms; a new entry counts from now."""
    stored = dict(ScheduledRun.objects.values_list("name", "last_run"))
    if missing := [name for name in names if name not in stored]:
        now = db.now_ms()
        rows = [ScheduledRun(name=name, last_run=now) for name in missing]
        db.insert_ignore(ScheduledRun, rows)
        stored = dict(ScheduledRun.objects.values_list("name", "last_run"))
    return stored


def _claim(name: str, last_run: int, now: int) -> bool:
    """Replace the time of the last run; False if another worker has already replaced it."""
    return bool(ScheduledRun.objects.filter(name=name, last_run=last_run).update(last_run=now))


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
