"""Reads that replicas of the database answer: those that only propose what a page may show.

What a page shows is checked on the primary, so a replica can hide something new, and never shows
what is gone. Caches are filled from the primary only.

A replica may answer a read for NOW if it has applied everything that the primary had written when
the read began, and a RECENT one if it has what the primary had RECENT_SECONDS ago. Both are
compared by their positions in the log (GTID of MariaDB), not by clocks of machines. Without such a
replica, and after any error of one, the primary answers.
"""

import contextlib
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, connections

from socialsite.core import db
from socialsite.core.db.routing import reading_from
from socialsite.core.telemetry.instruments import REPLICA_READS

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

# How much older than the primary's present state a read for guests may be.
RECENT_SECONDS = 10.0
# How long a read for NOW waits for a replica that is almost there, and a task.
PATIENCE_SECONDS, TASK_PATIENCE_SECONDS = 0.05, 3.0
# Positions are compared this often, and a replica that was behind is asked again after this time.
SAMPLE_SECONDS, BEHIND_SECONDS = 1.0, 1.0
# A replica that is lost is tried again by one caller after this time, then after twice as much.
LOST_SECONDS, LOST_SECONDS_MAX = 5.0, 60.0
COMPLAIN_SECONDS = 60.0

PRIMARY_POSITION = "SELECT @@gtid_binlog_pos"
REPLICA_POSITION = "SELECT @@gtid_slave_pos"
# 0 when the position is reached, -1 after so many seconds.
WAIT = "SELECT MASTER_GTID_WAIT(%s, %s)"
# Errors of the server that say the same as no connection: it takes no more of them, refuses the
# account, or stops.
REFUSED = {1040, 1044, 1045, 1047, 1053, 1129, 1130, 1142, 1203, 1927}
# The first error that the client itself finds.
FIRST_OF_CLIENT = 2000


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


class _Replica:
    """What this process knows about a replica; the times are those of its monotonic clock."""

    def __init__(self, alias: str, patient: str) -> None:
        self.aliases = (alias, patient)
        # For which time of the primary it is known to have everything.
        self.known = float("-inf")
        self.asked_from = self.waited_for_from = float("-inf")
        # Losses since the last answer, and losses ever; connections know after how many they began.
        self._losses = self._losses_ever = 0
        self._lock = threading.Lock()
        self._opened_after = threading.local()

    def may_be_asked(self) -> bool:
        """Return whether to use it; after a loss, True for one caller, who tries it."""
        if not self._losses:
            return True
        with self._lock:
            if (now := time.monotonic()) < self.asked_from:
                return False
            self.asked_from = now + self._pause()
            return True

    def _pause(self) -> float:
        return float(min(LOST_SECONDS * 2 ** (self._losses - 1), LOST_SECONDS_MAX))

    def lose(self, error: Exception) -> None:
        """Leave it alone for a while."""
        with self._lock:
            self._losses = min(self._losses + 1, 10)
            self._losses_ever += 1
            self.asked_from = time.monotonic() + self._pause()
            self.known = float("-inf")
        logger.warning("%s does not answer; the primary does: %s", self.aliases[0], error)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Use it for a block; it is lost if the block raises such an error."""
        if getattr(self._opened_after, "losses", 0) != self._losses_ever:
            self._opened_after.losses = self._losses_ever
            self._close()
        try:
            yield
        except Error as error:
            if _is_lost(error):
                self._close()
                self.lose(error)
            raise
        self._losses = 0

    def _close(self) -> None:
        for one in self.aliases:
            connections[one].close()


def _is_lost(error: Error) -> bool:
    code = error.args[0] if error.args else 0
    is_code = isinstance(code, int) and (code in REFUSED or code >= FIRST_OF_CLIENT)
    return is_code or isinstance(error, InterfaceError)


class _Replicas:
    """The replicas of the settings, and where the primary was at which time."""

    def __init__(self) -> None:
        self.all = {alias: _Replica(alias, other) for alias, other in settings.REPLICAS.items()}
        self._lock = threading.Lock()
        self._sampled_at = self._complained_at = float("-inf")
        # Positions of the primary, the oldest first, and the time before each was read.
        self._primary: deque[tuple[float, Position]] = deque(maxlen=30)

    def recent(self) -> "_Replica | None":
        """Return a replica that has what the primary had RECENT_SECONDS ago."""
        now = time.monotonic()
        if now - self._sampled_at >= SAMPLE_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._sample(now)
            finally:
                self._lock.release()
        least = time.monotonic() - RECENT_SECONDS
        return next((one for one in self._in_random_order() if one.known > least), None)

    def _sample(self, now: float) -> None:
        """Read the position of the primary, then those of the replicas."""
        self._primary.append((now, Position.read(self._primary_position())))
        for one in self._in_random_order():
            if not one.may_be_asked():
                continue
            with contextlib.suppress(Error), one.used():
                reached = Position.read(value(one.aliases[0], REPLICA_POSITION))
                times = [at for at, position in self._primary if reached.covers(position)]
                one.known = max(times, default=float("-inf"))
        self._sampled_at = time.monotonic()

    def present(self, patience: float) -> "_Replica | None":
        """Return a replica that has everything that the primary has written by now."""
        now = time.monotonic()
        asked = [one for one in self._in_random_order() if one.waited_for_from <= now]
        if not (asked and (position := self._primary_position())):
            return None
        for one in asked:
            left = max(now + patience - time.monotonic(), 0)
            if not one.may_be_asked():
                continue
            with contextlib.suppress(Error), one.used():
                if value(one.aliases[0], WAIT, position, left) == 0:
                    return one
                one.waited_for_from = time.monotonic() + BEHIND_SECONDS
        return None

    def _in_random_order(self) -> list[_Replica]:
        found = list(self.all.values())
        random.shuffle(found)
        return found

    def _primary_position(self) -> str:
        """Return the position of the primary; empty if it has none, as MySQL."""
        reason: object = "its log is empty"
        try:
            if found := str(value(DEFAULT_DB_ALIAS, PRIMARY_POSITION) or ""):
                return found
        except Error as error:
            reason = error
        if time.monotonic() - self._complained_at > COMPLAIN_SECONDS:
            self._complained_at = time.monotonic()
            logger.warning("the primary has no position, so no replica answers: %s", reason)
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
    found = _state.present(PATIENCE_SECONDS) if freshness is Freshness.NOW else _state.recent()
    return _run(partial(function, *args, **kwargs), found)


def routed(freshness: Freshness, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function as one whose calls `read`."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return read(freshness, function, *args, **kwargs)

    return run


def read_for_task(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what a function reads for NOW; it may take minutes. See `read`."""
    if not settings.REPLICAS or db.in_transaction():
        return function(*args, **kwargs)
    found = _state.present(TASK_PATIENCE_SECONDS)
    return _run(partial(function, *args, **kwargs), found, is_patient=True)


def _run(function: Callable[[], R], replica: _Replica | None, *, is_patient: bool = False) -> R:
    """Run a read on a replica, or on the primary if there is none or the read fails there."""
    if replica is not None:
        with contextlib.suppress(Error), replica.used():
            with reading_from(replica.aliases[is_patient]):
                found = function()
            REPLICA_READS.labels("replica").inc()
            return found
    REPLICA_READS.labels("primary").inc()
    return function()


def value(alias: str, sql: str, *values: Any) -> Any:
    """Return the value that a statement reads from a database."""
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchone()[0]
