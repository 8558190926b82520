"""Random actions of many threads on few people, with invariants during the run and after it.

With five people, sixteen threads compete for ten pairs. Relays deliver concurrently. A reader reads
all pairs in one statement again and again, and records pairs that are not one of the seven legal
ones.
"""

import contextlib
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relations import actions
from relations.models import RelationCount, RelationLog, Relationship
from relations.pairs import states
from relations.pairs.states import Action
from relations.tests.helpers import at_once, counted, facts
from socialsite.core import db
from socialsite.core.errors import Blacklisted, FollowLimit
from socialsite.core.events import enqueue, relay
from socialsite.core.models import Event

STUCK_SECONDS = 60
# The reader looks at least once in so many actions, however busy the machine is.
LOOK_EVERY = 100
DEADLOCK = 1213


@dataclass
class Findings:
    """Findings of a storm."""

    people: Sequence[Any]
    operations: int = 0
    seconds: float = 0.0
    refused: int = 0  # by the rules: blocked, cap reached
    transitions: int = 0
    looked_at: int = 0  # pairs read by the reader
    retries: Counter[int] = field(default_factory=Counter)  # retried transactions, by error code
    errors: list[Exception] = field(default_factory=list)  # seen by users
    relay_errors: list[str] = field(default_factory=list)
    illegal: list[Any] = field(default_factory=list)  # found during the run or afterwards
    broken: list[Any] = field(default_factory=list)  # gaps in the chain of versions
    over_cap: list[int] = field(default_factory=list)

    @property
    def deadlocks_per_10_000(self) -> float:
        """Deadlocks that were retried, for each 10,000 operations."""
        return self.retries[DEADLOCK] * 10_000 / max(self.operations, 1)

    def drift(self) -> dict[int, Any]:
        """Counters that differ from the rows, by person; valid after `drain`."""
        return {
            person.pk: (counted(person), facts(person))
            for person in self.people
            if counted(person) != facts(person)
        }


def storm(
    people: Sequence[Any],
    *,
    threads: int,
    operations: int,
    relays: int = 1,
    cap: int | None = None,
    seed: int = 1,
    progress: Callable[[int], Any] = lambda done: None,
) -> Findings:
    """Do `operations` random actions in all, with `relays` delivering concurrently; then check.

    `cap` is the current follow limit, which the reader checks; `progress` gets the number done.
    """
    found = Findings(people, operations=operations)
    turns = iter(range(operations))
    refused: list[int] = []
    lock = threading.Lock()
    over, blind = threading.Event(), threading.Event()
    looks = [0]

    def act(number: int) -> None:
        dice = random.Random(seed * 1000 + number)
        with enqueue.paused():
            while True:
                with lock:
                    turn = next(turns, None)
                if turn is None:
                    return
                while looks[0] * LOOK_EVERY < turn and not blind.is_set():
                    time.sleep(0.002)
                one, two = dice.sample(people, 2)
                try:
                    getattr(actions, dice.choice(list(Action)))(one, two)
                except (Blacklisted, FollowLimit):
                    refused.append(turn)
                except Exception as error:
                    found.errors.append(error)
                if turn % 1000 == 999:
                    progress(turn + 1)

    def run_relay() -> None:
        with enqueue.paused():
            while not over.is_set():
                if not relay.relay(20):
                    time.sleep(0.01)

    def read() -> None:
        try:
            while not over.is_set():
                _read_pages(found, cap)
                looks[0] += 1
                time.sleep(0.05)
        finally:
            blind.set()

    def actors() -> list[Any]:
        try:
            return at_once([lambda number=number: act(number) for number in range(threads)])
        finally:
            over.set()

    with _watch_retries(found):
        began = time.monotonic()
        results = at_once([actors, *[run_relay] * relays, read])
        found.seconds = time.monotonic() - began
        found.refused = len(refused)
        crashed = [one for one in results if isinstance(one, Exception)]
        found.errors += crashed
        drain()
    _read_pages(found, cap)
    _check_chains(found)
    return found


def drain() -> None:
    """Deliver every event, also those waiting after a failure. Raises TimeoutError if stuck."""
    end = time.monotonic() + STUCK_SECONDS
    with enqueue.paused():
        while True:
            if relay.relay():
                end = time.monotonic() + STUCK_SECONDS
            elif not Event.objects.filter(dead=False).exists():
                return
            elif time.monotonic() > end:
                raise TimeoutError("events are left over")
            else:
                time.sleep(0.01)


@contextlib.contextmanager
def _watch_retries(found: Findings) -> Iterator[None]:
    """Count the retries of core.db and the events that the relay puts back."""

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == db.logger.name:
                found.retries[getattr(record, "code", 0)] += 1
            elif record.levelno >= logging.ERROR:
                found.relay_errors.append(record.getMessage())

    ear = Ear()
    loggers = (db.logger, relay.logger)
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(ear)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(ear)
            logger.setLevel(level)
            logger.propagate = True


def _read_pages(found: Findings, cap: int | None) -> None:
    """Read all pairs in one statement, as one snapshot, and record the illegal ones."""
    ids = [person.pk for person in found.people]
    rows = {
        (row.from_user_id, row.to_user_id): row
        for row in Relationship.objects.filter(from_user__in=ids, to_user__in=ids)
    }
    found.looked_at += len(rows) // 2
    for (one, two), row in rows.items():
        other = rows.get((two, one))
        if other is None or not _is_legal(row, other):
            found.illegal.append((row, other))
    if cap is not None:
        counts = RelationCount.objects.filter(user__in=ids, following__gt=cap)
        found.over_cap += counts.values_list("user_id", flat=True)


def _is_legal(row: Relationship, other: Relationship) -> bool:
    """Return whether rows mirror each other, share a version and date exactly their states."""
    state = states.of(row)
    return (
        states.MIRROR[state] == states.of(other)
        and row.version == other.version
        and (row.followed_at is not None) == states.follows(state)
        and (row.blocked_at is not None) == states.blocks(state)
        and row.followed_at == other.fan_since
        and row.fan_since == other.followed_at
    )


def _check_chains(found: Findings) -> None:
    ids = [person.pk for person in found.people]
    rows = {
        (row.from_user_id, row.to_user_id): row
        for row in Relationship.objects.filter(from_user__in=ids, to_user__in=ids)
    }
    for (one, two), row in rows.items():
        if one < two and (two, one) in rows:
            found.transitions += row.version
            found.broken += _breaks(row, rows[two, one])


def _breaks(low: Relationship, high: Relationship) -> list[Any]:
    """Replay the log of a pair against the pure table; returns the gaps."""
    ids = (low.from_user_id, low.to_user_id)
    log = list(RelationLog.objects.filter(actor__in=ids, target__in=ids).order_by("version"))
    pair: dict[int, Any] = dict.fromkeys(ids)
    breaks: list[Any] = []
    for number, line in enumerate(log, start=1):
        after = states.transition(pair[line.actor_id], Action(line.action))
        if (line.version, line.before, line.after) != (number, pair[line.actor_id], after.mine):
            breaks.append(line)
        pair[line.actor_id], pair[line.target_id] = after
    if (low.version, high.version) != (len(log), len(log)):
        breaks.append((low, high))
    if (pair[ids[0]], pair[ids[1]]) != (states.of(low), states.of(high)):
        breaks.append((low, high, pair))
    return breaks
