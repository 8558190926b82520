"""Compares counts with the rows they count; finds and fixes drift while people use the site.

- Comparing takes no lock: a kept count, its unfolded changes and the rows are read in one statement
  or one snapshot, and every writer changes them in one transaction. So any difference is drift.
- A count is fixed under the lock of its row, which every writer takes, a fold too: the difference
  is computed again there and subtracted. Runs may overlap. Only one row is locked at a time, so
  there is no deadlock.
- One statement compares STEP rows with counts, by their keys.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import models, transaction
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce

from feeds import queries as feeds_queries
from interactions import actions, cache, queries
from interactions.models import (
    Bookmark,
    Case,
    Comment,
    CountCheck,
    Counted,
    Like,
    Report,
    Subject,
    SubjectType,
    Tally,
    Vote,
)
from socialsite.core import db

logger = logging.getLogger(__name__)

STEP = 500
LOGGED = 100
KEPT_CHECKS = 100

# Counter → kept minus true number, only for counters that differ.
Off = dict[str, int]


class _CountedTable(NamedTuple):
    """A table with counts: counter → column; `compare` compares some of its rows by key."""

    model: type[models.Model]
    columns: dict[str, str]
    compare: "Callable[[QuerySet[Any]], dict[int, Off]]"


@dataclass
class Found:
    """The result of a run: rows compared, wrong rows, absolute drift by counter."""

    rows: int = 0
    wrong: int = 0
    drift: Counter[str] = field(default_factory=Counter)


def run(*, fix: bool = False, progress: Callable[[int], object] = lambda rows: None) -> Found:
    """Compare every count, fix wrong ones with `fix`, store and log the result.

    `progress` is called with the number of rows compared.
    """
    found = Found()
    for table in TABLES:
        for rows, number in _steps(table.model):
            found.rows += number
            _judge(table, table.compare(rows), found, fix=fix)
            progress(number)
    for post_ids in _lost():
        found.rows += len(post_ids)
        _judge(SUBJECTS, _compare_lost(post_ids, fix=fix), found, fix=fix)
    for post_ids in _without_tally():
        found.rows += len(post_ids)
        _judge(TALLIES, _compare_without_tally(post_ids, fix=fix), found, fix=fix)
    _store(found, fix=fix)
    log = logger.warning if found.wrong else logger.info
    log("counts of %d rows, wrong %d: %s", found.rows, found.wrong, dict(found.drift))
    return found


def total() -> int:
    """Return the number of rows with counts."""
    return sum(table.model._default_manager.count() for table in TABLES)


def last() -> CountCheck | None:
    """Return the newest check; None before the first one."""
    return CountCheck.objects.order_by("-pk").first()


def _steps(model: type[models.Model]) -> "Iterator[tuple[QuerySet[Any], int]]":
    """Yield the rows of a model STEP at a time, by key, and how many there were."""
    rows, after = model._default_manager.order_by("pk"), 0
    while keys := list(rows.filter(pk__gt=after).values_list("pk", flat=True)[:STEP]):
        yield rows.filter(pk__gt=after, pk__lte=keys[-1]), len(keys)
        after = keys[-1]


def _judge(table: _CountedTable, wrong: dict[int, Off], found: Found, *, fix: bool) -> None:
    for key, off in wrong.items():
        found.wrong += 1
        found.drift.update({name: abs(number) for name, number in off.items()})
        if found.wrong <= LOGGED:
            logger.warning("counts of %s %d are wrong by %s", table.model.__name__, key, off)
        if fix:
            _repair(table, key)


# --- comparing ----------------------------------------------------------------------------------
def _number(rows: "QuerySet[Any]", key: str) -> Combinable:
    """Return an expression for the number of rows; `key` is the column they share."""
    number = rows.order_by().values(key).annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(number, IntegerField()), 0)


def _off(rows: "QuerySet[Any]", **differences: Combinable) -> dict[int, Off]:
    """Return the non-zero differences of some rows, all read in one statement."""
    names = {f"off_{name}": name for name in differences}
    asked = rows.annotate(**{f"off_{name}": value for name, value in differences.items()})
    wrong = {}
    for key, *values in asked.values_list("pk", *names):
        off = {name: value for name, value in zip(names.values(), values, strict=True) if value}
        if off:
            wrong[key] = off
    return wrong


def _signed(column: str) -> Combinable:
    """Return a count as an expression that allows subtraction: MariaDB's unsigned does not."""
    return Cast(F(column), IntegerField())


def _now(
    counted: Counted, subj_type: SubjectType = SubjectType.POST, ident: str = "subj_id"
) -> Combinable:
    """Return an expression for a count including its unfolded changes."""
    return queries.number_of(counted, subj_type, ident)


def _compare_subjects(rows: "QuerySet[Subject]") -> dict[int, Off]:
    """Compare the counts of posts; only posts have subjects."""
    likes = Like.objects.filter(subj_type=SubjectType.POST, subj_id=OuterRef("subj_id"))
    comments = Comment.objects.filter(subject_id=OuterRef("pk"), deleted=False)
    reposts = feeds_queries.reposts().filter(ref_post_id=OuterRef("subj_id"))
    bookmarks = Bookmark.objects.filter(post_id=OuterRef("subj_id"))
    return _off(
        rows,
        likes=_now(Counted.LIKE) - _number(likes, "subj_id"),
        comments=_signed("comment_count") - _number(comments, "subject_id"),
        reposts=_now(Counted.REPOST) - _number(reposts, "ref_post_id"),
        bookmarks=_now(Counted.BOOKMARK) - _number(bookmarks, "post_id"),
    )


def _compare_comments(rows: "QuerySet[Comment]") -> dict[int, Off]:
    likes = Like.objects.filter(subj_type=SubjectType.COMMENT, subj_id=OuterRef("pk"))
    live = Comment.objects.filter(subject_id=OuterRef("subject_id"), deleted=False)
    thread = _number(live.filter(root_id=OuterRef("pk")), "root_id")
    answers = _number(live.filter(parent_id=OuterRef("pk")), "parent_id")
    replies = models.Case(models.When(root__isnull=True, then=thread), default=answers)
    return _off(
        rows,
        comment_likes=_now(Counted.LIKE, SubjectType.COMMENT, "pk") - _number(likes, "subj_id"),
        replies=_signed("reply_count") - replies,
    )


def _compare_cases(rows: "QuerySet[Case]") -> dict[int, Off]:
    """Compare the queue of reports; reasons that differ from the reports are wrong as well."""
    with db.snapshot():
        cases = list(rows.values_list("pk", "open_count", "reasons"))
        reasons = _reasons(rows)
    wrong = {}
    for key, count, told in cases:
        true = reasons.get(key, {})
        names = told.keys() | true.keys()
        apart = max([abs(told.get(name, 0) - true.get(name, 0)) for name in names], default=0)
        if off := count - sum(true.values()) or apart:
            wrong[key] = {"reports": off}
    return wrong


def _reasons(cases: "QuerySet[Case]") -> dict[int, dict[str, int]]:
    """Return case → reason → number of open reports with it."""
    rows = Report.objects.filter(case__in=cases.order_by(), is_open=True).order_by()
    found: dict[int, dict[str, int]] = {}
    for case, reason, number in rows.values_list("case", "reason").annotate(number=Count("pk")):
        found.setdefault(case, {})[reason] = number
    return found


def _compare_tallies(rows: "QuerySet[Tally]") -> dict[int, Off]:
    """Compare the tallies of polls with the votes in them; `votes` adds up all differences."""
    with db.snapshot():
        kept = {row[0]: row[1:] for row in rows.values_list("pk", *Tally.COUNTS)}
        true = _votes(kept)
    wrong = {}
    for post_id, counts in kept.items():
        pairs = zip(counts, true.get(post_id, Tally.of(0, 0)), strict=True)
        differences = [one - other for one, other in pairs]
        if off := sum(map(abs, differences)):
            wrong[post_id] = {"votes": -off if sum(differences) < 0 else off}
    return wrong


def _votes(post_ids: Collection[int]) -> dict[int, list[int]]:
    """Return what the tallies of these polls should be, from the votes that are folded."""
    true: dict[int, list[int]] = {}
    votes = Vote.objects.filter(post_id__in=post_ids, waiting=None).order_by()
    grouped = votes.values_list("post_id", "choices").annotate(number=Count("pk"))
    for post_id, choices, number in grouped:
        added = zip(true.get(post_id, Tally.of(0, 0)), Tally.of(choices, number), strict=True)
        true[post_id] = [one + other for one, other in added]
    return true


SUBJECTS = _CountedTable(
    Subject,
    {
        "likes": "like_count",
        "comments": "comment_count",
        "reposts": "repost_count",
        "bookmarks": "bookmark_count",
    },
    _compare_subjects,
)
COMMENTS = _CountedTable(
    Comment, {"comment_likes": "like_count", "replies": "reply_count"}, _compare_comments
)
CASES = _CountedTable(Case, {"reports": "open_count"}, _compare_cases)
TALLIES = _CountedTable(Tally, {"votes": "people"}, _compare_tallies)
TABLES = (SUBJECTS, COMMENTS, CASES, TALLIES)
COUNTERS = tuple(name for table in TABLES for name in table.columns)


def _lost() -> Iterator[list[int]]:
    """Yield posts that have something to count but no row with counts."""
    sources: list[tuple[QuerySet[Any], str]] = [
        (Like.objects.filter(subj_type=SubjectType.POST), "subj_id"),
        (feeds_queries.reposts(), "ref_post_id"),
        (Bookmark.objects.all(), "post_id"),
    ]
    for rows, column in sources:
        after = 0
        while True:
            beyond = rows.filter(**{f"{column}__gt": after})
            ids = beyond.order_by(column).values_list(column, flat=True).distinct()
            some = list(ids[:STEP])
            if not some:
                break
            after = some[-1]
            # Read after the rows that it counts, and written with the first of them.
            subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=some)
            lost = set(some).difference(subjects.values_list("subj_id", flat=True))
            if lost:
                yield sorted(lost)


def _compare_lost(post_ids: Sequence[int], *, fix: bool) -> dict[int, Off]:
    """Compare posts without a row as if they had an empty one; with `fix`, create it."""
    with transaction.atomic():
        for post_id in post_ids:
            actions.ensure_subject(post_id)
        rows = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=post_ids)
        wrong = _compare_subjects(rows)
        transaction.set_rollback(not fix)
    return wrong


def _without_tally() -> Iterator[list[int]]:
    """Yield polls with folded votes but no tally."""
    after = 0
    while True:
        votes = Vote.objects.filter(post_id__gt=after).order_by("post_id")
        some = list(votes.values_list("post_id", flat=True).distinct()[:STEP])
        if not some:
            break
        after = some[-1]
        with db.snapshot():
            tallies = Tally.objects.filter(pk__in=some).values_list("pk", flat=True)
            lost = set(some).difference(tallies)
            lost &= _votes(lost).keys() if lost else set()
        if lost:
            yield sorted(lost)


def _compare_without_tally(post_ids: Sequence[int], *, fix: bool) -> dict[int, Off]:
    """Compare polls without a tally as if they had an empty one; with `fix`, create it."""
    with transaction.atomic():
        db.ensure(*[Tally(post_id=post_id) for post_id in post_ids])
        wrong = _compare_tallies(Tally.objects.filter(pk__in=post_ids))
        transaction.set_rollback(not fix)
    return wrong


# --- fixing -------------------------------------------------------------------------------------
@db.atomic
def _repair(table: _CountedTable, key: int) -> None:
    """Compute the counts of one row again, under its lock."""
    rows: QuerySet[Any] = table.model._default_manager.filter(pk=key)
    row = rows.select_for_update().get()
    if table in (SUBJECTS, COMMENTS):
        # Changes folded first cannot make a count negative once it is right. Later changes are
        # left, as a viral post may get ever more.
        subject = (row.subj_type, row.subj_id) if table is SUBJECTS else (SubjectType.COMMENT, key)
        while actions.fold_counts(*subject) >= actions.FOLD_MAX:
            pass
        row.refresh_from_db()
    off = table.compare(rows).get(key, {})
    changed: dict[str, Any] = {
        table.columns[name]: _less(row, table.columns[name], by) for name, by in off.items()
    }
    if table is CASES:
        reasons = _reasons(rows).get(key, {})
        changed = {"open_count": sum(reasons.values()), "reasons": reasons}
    if table is TALLIES:
        votes = _votes([key]).get(key, Tally.of(0, 0))
        changed = dict(zip(Tally.COUNTS, votes, strict=True))
    if changed:
        rows.update(**changed)
    if table in (SUBJECTS, TALLIES):
        cache.post_changed(row.subj_id if table is SUBJECTS else key)


def _less(row: Any, column: str, by: int) -> int:
    return max(0, int(getattr(row, column)) - by)


@db.atomic
def _store(found: Found, *, fix: bool) -> None:
    """Store the result for the metric, and delete the oldest."""
    drift = {name: found.drift[name] for name in COUNTERS}
    check = CountCheck.objects.create(
        finished_at=db.now_ms(), rows=found.rows, wrong=found.wrong, drift=drift, fixed=fix
    )
    CountCheck.objects.filter(pk__lte=check.pk - KEPT_CHECKS).delete()
