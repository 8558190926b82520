"""Reads that replicas of the database answer: those that only propose what a page may show.

What a page shows is checked on the primary, so a replica can hide something new, and never shows
what is gone. Caches are filled from the primary only.

A replica may answer a read for NOW if it has applied everything that the primary had written when
the read began, and a RECENT one if it has what the primary had RECENT_SECONDS ago. Both are
compared by their positions in the log (GTID of MariaDB), not by clocks of machines. Without such a
replica, and after any error of one, the primary answers.
"""

import logging
import random
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections

from socialsite.core import db
from socialsite.core.db.routing import reading_from
from socialsite.core.telemetry.instruments import REPLICA_READS

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

# How much older than the primary's present state a read for guests may be.
RECENT_SECONDS = 10.0
# How long a read for NOW waits for a replica that is almost there.
PATIENCE_SECONDS = 0.05
# The same for a task.
TASK_PATIENCE_SECONDS = 10.0
# Positions are compared this often, and a replica that did not answer, or was behind, is asked
# again after these times.
SAMPLE_SECONDS, BROKEN_SECONDS, BEHIND_SECONDS = 1.0, 5.0, 1.0

PRIMARY_POSITION = "SELECT @@gtid_current_pos"
REPLICA_POSITION = "SELECT @@gtid_slave_pos"
# 0 when the position is reached, -1 after so many seconds.
WAIT = "SELECT MASTER_GTID_WAIT(%s, %s)"


class Freshness(Enum):
    """How old what a read returns may be."""

    NOW = "now"
    RECENT = "recent"


def for_reader(viewer_id: int | None) -> Freshness:
    """Return what a reader gets: people the present state, guests a recent one."""
    return Freshness.RECENT if viewer_id is None else Freshness.NOW


class Position(NamedTuple):
    """A place in the logs of a primary: the last sequence number of each domain."""

    sequences: dict[int, int]

    @classmethod
    def read(cls, text: str) -> "Position":
        """Return the position of a GTID list such as `0-1-42,1-1-7`."""
        found: dict[int, int] = {}
        for gtid in filter(None, text.split(",")):
            domain, _server, sequence = gtid.split("-")
            found[int(domain)] = int(sequence)
        return cls(found)

    def covers(self, other: "Position") -> bool:
        """Return whether everything up to the other position is applied here."""
        return bool(other.sequences) and all(
            self.sequences.get(domain, -1) >= sequence
            for domain, sequence in other.sequences.items()
        )


class _Replicas:
    """What this process knows about the replicas; the times are those of its monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sampled_at = float("-inf")
        # Positions of the primary, the oldest first, and the time before each was read.
        self._primary: deque[tuple[float, Position]] = deque(maxlen=30)
        # By alias: for which time of the primary it is known to have everything.
        self._known: dict[str, float] = {}
        self._broken_until: dict[str, float] = defaultdict(float)
        self._behind_until: dict[str, float] = defaultdict(float)

    def recent(self) -> list[str]:
        """Return the replicas that have what the primary had RECENT_SECONDS ago."""
        now = time.monotonic()
        if now - self._sampled_at >= SAMPLE_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._sample(now)
            finally:
                self._lock.release()
        least = time.monotonic() - RECENT_SECONDS
        return [alias for alias in self.awake() if self._known.get(alias, least) > least]

    def _sample(self, now: float) -> None:
        """Read the position of the primary, then those of the replicas."""
        self._primary.append((now, Position.read(_primary_position())))
        for alias in self.awake():
            try:
                reached = Position.read(value(alias, REPLICA_POSITION))
            except Error as error:
                self.fail(alias, error)
                continue
            times = [at for at, position in self._primary if reached.covers(position)]
            if times:
                self._known[alias] = max(times)
        self._sampled_at = time.monotonic()

    def awake(self) -> list[str]:
        """Return the replicas that did not fail just now, in random order."""
        found = [one for one in settings.REPLICAS if self._broken_until[one] <= time.monotonic()]
        random.shuffle(found)
        return found

    def fail(self, alias: str, error: Exception) -> None:
        """Leave a replica alone for a while, and then connect anew."""
        self._broken_until[alias] = time.monotonic() + BROKEN_SECONDS
        for one in (alias, settings.REPLICAS[alias]):
            connections[one].close()
        logger.warning("the replica %s failed; the primary answers: %s", alias, error)

    def present(self, patience: float, aliases: Mapping[str, str]) -> str | None:
        """Return a replica that has everything that the primary has written by now.

        Each is asked by its alias among `aliases`, whose answers may take as long.
        """
        now = time.monotonic()
        if not (asked := [one for one in self.awake() if self._behind_until[one] <= now]):
            return None
        if not (position := _primary_position()):
            return None
        for alias in asked:
            try:
                waited = value(aliases[alias], WAIT, position, patience)
            except Error as error:
                self.fail(alias, error)
                continue
            if waited == 0:
                return alias
            self._behind_until[alias] = time.monotonic() + BEHIND_SECONDS
        return None


def _primary_position() -> str:
    """Return the position of the primary; empty if it has none, as MySQL."""
    try:
        return str(value(DEFAULT_DB_ALIAS, PRIMARY_POSITION) or "")
    except Error as error:
        logger.warning("the primary has no position; no replica answers: %s", error)
        return ""


_state = _Replicas()


def forget() -> None:
    """Forget what is known about the replicas, for tests that replace them."""
    global _state
    _state = _Replicas()


def read(
    freshness: Freshness,
    function: Callable[P, R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    """Return what a function reads, from a replica if one is fresh enough.

    The function returns whole rows, not a lazy queryset, and may run twice. In a transaction it
    reads from the primary.
    """
    if not settings.REPLICAS or db.in_transaction():
        return function(*args, **kwargs)
    if freshness is Freshness.NOW:
        alias = _state.present(PATIENCE_SECONDS, {one: one for one in settings.REPLICAS})
    else:
        alias = next(iter(_state.recent()), None)
    return _run(partial(function, *args, **kwargs), alias, alias)


def routed(freshness: Freshness, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function as one whose calls `read`."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return read(freshness, function, *args, **kwargs)

    return run


def read_for_task(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a function reads for NOW; it may take minutes. See `read`."""
    if not settings.REPLICAS or db.in_transaction():
        return function(*args, **kwargs)
    alias = _state.present(TASK_PATIENCE_SECONDS, settings.REPLICAS)
    patient = None if alias is None else settings.REPLICAS[alias]
    return _run(partial(function, *args, **kwargs), alias, patient)


def _run(function: Callable[[], R], replica: str | None, alias: str | None) -> R:
    """Run a read on a replica by an alias of it, or on the primary."""
    if replica is not None and alias is not None:
        try:
            with reading_from(alias):
                found = function()
        except Error as error:
            _state.fail(replica, error)
        else:
            REPLICA_READS.labels("replica").inc()
            return found
    REPLICA_READS.labels("primary").inc()
    return function()


def value(alias: str, sql: str, *values: Any) -> Any:
    """Return the value that a statement reads from a database."""
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]
