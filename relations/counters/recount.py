"""Compares counters with rows: finds drift, and repairs it while the site runs.

Each row stores how it was counted (`counts`). So two things can be wrong: a counter differs from
the number of its marked rows, or a row's mark differs from its state although no pending event
would settle it.

- Checking takes no lock. A counter and its rows are read in one snapshot of the database, and every
  writer changes both in one transaction, so any difference is drift.
- A repair subtracts that difference under the counter's lock. Concurrent writers change the counter
  and their rows alike, so the counter never shows a number that the rows do not. Then lost rows are
  settled as an event would do.
- Rows are read ROWS at a time; a person with more is read in parts of one snapshot. Only one run
  may repair at a time, or a difference would be subtracted twice.
"""

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.models import Count, F, Q, QuerySet

from relations.counters import counts
from relations.events import Blocked, FollowCreated
from relations.models import CountCheck, RelationCount, Relationship
from relations.pairs import locks, states
from socialsite.core import db
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event

logger = logging.getLogger(__name__)

ROWS = 20_000
LOST_ROWS = 500
LOGGED = 100
KEPT_CHECKS = 100


class AlreadyRunning(Exception):
    """Another process recounts this database."""


@dataclass
class Report:
    """Result of a run: people checked, people wrong, and drift by counter (absolute)."""

    people: int = 0
    wrong: int = 0
    drift: Counter[str] = field(default_factory=Counter)


class _Person(NamedTuple):
    """One person's counters minus their marked rows, and (state, mark) of rows that differ."""

    user_id: int
    differences: dict[str, int]
    unsettled: list[tuple[int | None, int]]


class _Lost(NamedTuple):
    """A row that no pending event will settle."""

    other: int
    state: states.State
    counted: int


def run(*, fix: bool = False, progress: Callable[[int], object] = lambda rows: None) -> Report:
    """Check everybody, repair with `fix`, store and log the result.

    `progress` is called with the number of rows read. Raises AlreadyRunning when another run is
    active.
    """
    report = Report()
    with _alone():
        for after, upto, giant in _ranges():
            people, rows = _read_range(after, upto, giant)
            report.people += len(people)
            for person in people:
                _judge(person, report, fix=fix)
            progress(rows)
        _store(report, fix=fix)
    log = logger.warning if report.wrong else logger.info
    log("counters of %d people, wrong %d: %s", report.people, report.wrong, dict(report.drift))
    return report


def _judge(person: _Person, report: Report, *, fix: bool) -> None:
    lost = list(_lost_rows(person)) if person.unsettled else []
    drift = Counter(person.differences)
    for row in lost:
        for name, bit in counts.BITS.items():
            drift[name] += bool(row.counted & bit) - bool(counts.bits(row.state) & bit)
    if person.differences or lost:
        off = {name: number for name, number in drift.items() if number}
        report.wrong += 1
        report.drift.update({name: abs(number) for name, number in off.items()})
        if report.wrong <= LOGGED:
            logger.warning("counters of user %d are wrong by %s", person.user_id, off)
    if fix:
        if person.differences:
            _repair(person.user_id, person.differences)
        for row in lost:
            counts.settle(person.user_id, row.other)


# --- checking -----------------------------------------------------------------------------------
def _ranges() -> Iterator[tuple[int, int, bool]]:
    """Yield ranges of user ids (exclusive, inclusive) of at most ROWS rows.

    The third value is True for a range of one person with more rows.
    """
    after = 0
    while True:
        rows = Relationship.objects.filter(from_user__gt=after)
        owners = rows.order_by("from_user_id", "to_user_id").values_list("from_user_id", flat=True)
        beyond = owners[ROWS : ROWS + 1].first()
        if beyond is None:
            yield after, MAX_ID, False
            return
        giant = owners.first() == beyond
        upto = beyond if giant else beyond - 1
        yield after, upto, giant
        after = upto


def _read_range(after: int, upto: int, giant: bool) -> tuple[list[_Person], int]:
    """Return everybody in a range, and the number of their rows."""
    marked: dict[int, Counter[str]] = {}
    unsettled: dict[int, list[tuple[int | None, int]]] = {}
    total = 0
    with db.snapshot():
        found = RelationCount.objects.filter(pk__gt=after, pk__lte=upto)
        kept = {row["user_id"]: row for row in found.values("user_id", *counts.BITS)}
        for piece in _pieces(after, upto, giant):
            groups = piece.values_list("from_user_id", "relation", "counted").order_by()
            for owner, relation, counted, number in groups.annotate(number=Count("pk")):
                total += number
                marks = marked.setdefault(owner, Counter())
                marks.update({name: number for name, bit in counts.BITS.items() if counted & bit})
                if counts.bits(states.read(relation)) != counted:
                    unsettled.setdefault(owner, []).append((relation, counted))
    people = []
    for user_id in sorted(kept.keys() | marked.keys()):
        row, marks = kept.get(user_id, {}), marked.get(user_id, Counter())
        differences = {name: row.get(name, 0) - marks[name] for name in counts.BITS}
        wrong = {name: number for name, number in differences.items() if number}
        people.append(_Person(user_id, wrong, unsettled.get(user_id, [])))
    return people, total


def _pieces(after: int, upto: int, giant: bool) -> "Iterator[QuerySet[Relationship]]":
    """Yield the rows of a range; the rows of one big person in parts of ROWS."""
    rows = Relationship.objects.filter(from_user__gt=after, from_user__lte=upto)
    low = -1
    while giant:
        rows = Relationship.objects.filter(from_user=upto, to_user__gt=low)
        others = rows.order_by("to_user_id").values_list("to_user_id", flat=True)
        high = others[ROWS - 1 : ROWS].first()
        if high is None:
            break
        yield rows.filter(to_user__lte=high)
        low = high
    yield rows


def _lost_rows(person: _Person) -> Iterator[_Lost]:
    """Yield the rows whose mark differs from their state and which no pending event will settle."""
    differs = Q()
    for relation, counted in person.unsettled:
        same = Q(relation__isnull=True) if relation is None else Q(relation=relation)
        differs |= same & Q(counted=counted)
    mine = Relationship.objects.filter(differs, from_user=person.user_id).order_by("to_user_id")
    low = -1
    while rows := list(mine.filter(to_user__gt=low)[:LOST_ROWS]):
        low = rows[-1].to_user_id
        yield from _without_event(rows)


def _without_event(rows: list[Relationship]) -> list[_Lost]:
    """Return a person's unsettled rows without a pending event; an event settles both rows.

    The events are read before the rows are read again: a handled event has settled its row by then,
    and a newer one has raised the version.
    """
    owner = rows[0].from_user_id
    mirrors = dict(
        Relationship.objects.filter(
            from_user__in=[row.to_user_id for row in rows], to_user=owner
        ).values_list("from_user_id", "pk")
    )
    waiting = set(
        Event.objects.filter(
            dead=False,
            applied=False,
            aggregate_type__in=(FollowCreated.aggregate_type, Blocked.aggregate_type),
            aggregate_id__in=[*(row.pk for row in rows), *mirrors.values()],
        ).values_list("aggregate_id", flat=True)
    )
    seen = {
        row.pk: (row.version, row.counted)
        for row in rows
        if not {row.pk, mirrors.get(row.to_user_id)} & waiting
    }
    again = Relationship.objects.filter(from_user=owner, pk__in=seen)
    return [
        _Lost(row.to_user_id, states.of(row), row.counted)
        for row in again
        if seen[row.pk] == (row.version, row.counted)
    ]


# --- repairing ----------------------------------------------------------------------------------
@db.atomic
def _repair(user_id: int, differences: dict[str, int]) -> None:
    """Subtract the drift from a person's counters."""
    locks.counters((user_id,))
    changes = {name: F(name) - number for name, number in differences.items()}
    RelationCount.objects.filter(pk=user_id).update(**changes)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Exclude other runs. A command of the embedded mode is alone by the lock of that mode."""
    with db.named_lock("recount") as is_alone:
        if not is_alone:
            raise AlreadyRunning("another process recounts this database")
        yield


@db.atomic
def _store(report: Report, *, fix: bool) -> None:
    """Store the result for the metric, and delete the oldest results."""
    drift = {name: report.drift[name] for name in counts.BITS}
    check = CountCheck.objects.create(
        finished_at=db.now_ms(), people=report.people, wrong=report.wrong, fixed=fix, **drift
    )
    CountCheck.objects.filter(pk__lte=check.pk - KEPT_CHECKS).delete()


def last() -> CountCheck | None:
    """Return the newest check, None before the first."""
    return CountCheck.objects.order_by("-pk").first()
