"""Counts held against the rows they are of: drift is found, and mended while people go on.

- Looking takes no lock: a kept count, what is not folded into it yet and the rows are read in one
  statement or one snapshot, and every writer moves them in one transaction. So a difference is
  drift, whatever is going on.
- A count is mended under the lock of its row, which everybody who moves it takes, a fold too: the
  difference is made anew there, and taken off. Runs may overlap. One row is locked at a time, so
  nobody waits in a circle.
- STEP rows with counts are looked at in one statement, by their keys.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import models, transaction
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce

from feeds import queries as feeds
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
)
from socialsite.core import db

logger = logging.getLogger(__name__)

STEP = 500
LOGGED = 100
KEPT_CHECKS = 100

# Counter → kept less true, of those that differ.
Off = dict[str, int]


class _Kept(NamedTuple):
    """Rows that have counts: counter → column, and what `look` at some of them finds by key."""

    model: type[models.Model]
    columns: dict[str, str]
    look: "Callable[[QuerySet[Any]], dict[int, Off]]"


@dataclass
class Found:
    """What a run found: rows with counts looked at, of those wrong, drift by counter (absolute)."""

    rows: int = 0
    wrong: int = 0
    drift: Counter[str] = field(default_factory=Counter)


def run(*, fix: bool = False, progress: Callable[[int], object] = lambda rows: None) -> Found:
    """Look at every count, mend what is wrong with `fix`, keep and log what was found.

    `progress` is told how many rows with counts were looked at.
    """
    found = Found()
    for kept in KEPT:
        for rows, number in _steps(kept.model):
            found.rows += number
            _judge(kept, kept.look(rows), found, fix=fix)
            progress(number)
    for post_ids in _lost():
        found.rows += len(post_ids)
        _judge(SUBJECTS, _look_lost(post_ids, fix=fix), found, fix=fix)
    _keep(found, fix=fix)
    log = logger.warning if found.wrong else logger.info
    log("counts of %d rows, wrong %d: %s", found.rows, found.wrong, dict(found.drift))
    return found


def total() -> int:
    """Return how many rows with counts there are."""
    return sum(kept.model._default_manager.count() for kept in KEPT)


def last() -> CountCheck | None:
    """Return the newest check, None before the first."""
    return CountCheck.objects.order_by("-pk").first()


def _steps(model: type[models.Model]) -> "Iterator[tuple[QuerySet[Any], int]]":
    """Yield the rows of a model STEP at a time, by key, and how many there were."""
    rows, after = model._default_manager.order_by("pk"), 0
    while keys := list(rows.filter(pk__gt=after).values_list("pk", flat=True)[:STEP]):
        yield rows.filter(pk__gt=after, pk__lte=keys[-1]), len(keys)
        after = keys[-1]


def _judge(kept: _Kept, wrong: dict[int, Off], found: Found, *, fix: bool) -> None:
    for key, off in wrong.items():
        found.wrong += 1
        found.drift.update({name: abs(number) for name, number in off.items()})
        if found.wrong <= LOGGED:
            logger.warning("counts of %s %d are off by %s", kept.model.__name__, key, off)
        if fix:
            _mend(kept, key)


# --- looking ------------------------------------------------------------------------------------
def _number(rows: "QuerySet[Any]", key: str) -> Combinable:
    """Return the expression of the number of rows; `key` is what they have in common."""
    number = rows.order_by().values(key).annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(number, IntegerField()), 0)


def _off(rows: "QuerySet[Any]", **differences: Combinable) -> dict[int, Off]:
    """Return the differences of some rows that are not 0, all read in one statement."""
    names = {f"off_{name}": name for name in differences}
    asked = rows.annotate(**{f"off_{name}": value for name, value in differences.items()})
    wrong = {}
    for key, *values in asked.values_list("pk", *names):
        off = {name: value for name, value in zip(names.values(), values, strict=True) if value}
        if off:
            wrong[key] = off
    return wrong


def _kept(column: str) -> Combinable:
    """Return the expression of a count that may be taken from: MariaDB's unsigned may not."""
    return Cast(F(column), IntegerField())


def _now(
    counted: Counted, subj_type: SubjectType = SubjectType.POST, ident: str = "subj_id"
) -> Combinable:
    """Return the expression of a count with what is not folded into it yet."""
    return queries.number_of(counted, subj_type, ident)


def _look_at_subjects(rows: "QuerySet[Subject]") -> dict[int, Off]:
    """Look at posts; nothing else has a subject."""
    likes = Like.objects.filter(subj_type=SubjectType.POST, subj_id=OuterRef("subj_id"))
    comments = Comment.objects.filter(subject_id=OuterRef("pk"), deleted=False)
    reposts = feeds.reposts().filter(ref_post_id=OuterRef("subj_id"))
    bookmarks = Bookmark.objects.filter(post_id=OuterRef("subj_id"))
    return _off(
        rows,
        likes=_now(Counted.LIKE) - _number(likes, "subj_id"),
        comments=_kept("comment_count") - _number(comments, "subject_id"),
        reposts=_now(Counted.REPOST) - _number(reposts, "ref_post_id"),
        bookmarks=_now(Counted.BOOKMARK) - _number(bookmarks, "post_id"),
    )


def _look_at_comments(rows: "QuerySet[Comment]") -> dict[int, Off]:
    likes = Like.objects.filter(subj_type=SubjectType.COMMENT, subj_id=OuterRef("pk"))
    live = Comment.objects.filter(subject_id=OuterRef("subject_id"), deleted=False)
    thread = _number(live.filter(root_id=OuterRef("pk")), "root_id")
    answers = _number(live.filter(parent_id=OuterRef("pk")), "parent_id")
    replies = models.Case(models.When(root__isnull=True, then=thread), default=answers)
    return _off(
        rows,
        comment_likes=_now(Counted.LIKE, SubjectType.COMMENT, "pk") - _number(likes, "subj_id"),
        replies=_kept("reply_count") - replies,
    )


def _look_at_cases(rows: "QuerySet[Case]") -> dict[int, Off]:
    """Look at the queue of reports; reasons that are not those of the reports are off as well."""
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
    """Return case → reason → how many open reports give it."""
    rows = Report.objects.filter(case__in=cases.order_by(), is_open=True).order_by()
    found: dict[int, dict[str, int]] = {}
    for case, reason, number in rows.values_list("case", "reason").annotate(number=Count("pk")):
        found.setdefault(case, {})[reason] = number
    return found


SUBJECTS = _Kept(
    Subject,
    {
        "likes": "like_count",
        "comments": "comment_count",
        "reposts": "repost_count",
        "bookmarks": "bookmark_count",
    },
    _look_at_subjects,
)
COMMENTS = _Kept(
    Comment, {"comment_likes": "like_count", "replies": "reply_count"}, _look_at_comments
)
CASES = _Kept(Case, {"reports": "open_count"}, _look_at_cases)
KEPT = (SUBJECTS, COMMENTS, CASES)
COUNTERS = tuple(name for kept in KEPT for name in kept.columns)


def _lost() -> Iterator[list[int]]:
    """Yield posts that something is to be counted of and that have no row with counts."""
    sources: list[tuple[QuerySet[Any], str]] = [
        (Like.objects.filter(subj_type=SubjectType.POST), "subj_id"),
        (feeds.reposts(), "ref_post_id"),
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
            # Read after the rows that it is of, and written with the first of them.
            subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=some)
            lost = set(some).difference(subjects.values_list("subj_id", flat=True))
            if lost:
                yield sorted(lost)


def _look_lost(post_ids: Sequence[int], *, fix: bool) -> dict[int, Off]:
    """Look at posts without a row as if they had one; with `fix` they have it from now on."""
    with transaction.atomic():
        for post_id in post_ids:
            actions.ensure_subject(post_id)
        rows = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=post_ids)
        wrong = _look_at_subjects(rows)
        transaction.set_rollback(not fix)
    return wrong


# --- mending ------------------------------------------------------------------------------------
@db.atomic
def _mend(kept: _Kept, key: int) -> None:
    """Make the counts of one row again, under its lock."""
    rows: QuerySet[Any] = kept.model._default_manager.filter(pk=key)
    row = rows.select_for_update().get()
    if kept is not CASES:
        # What is folded first cannot fall below nothing once the count is right. What comes in
        # meanwhile is left: of a viral post there may always be more.
        subject = (row.subj_type, row.subj_id) if kept is SUBJECTS else (SubjectType.COMMENT, key)
        while actions.fold_counts(*subject) >= actions.FOLD_MAX:
            pass
        row.refresh_from_db()
    off = kept.look(rows).get(key, {})
    changed: dict[str, Any] = {
        kept.columns[name]: _less(row, kept.columns[name], by) for name, by in off.items()
    }
    if kept is CASES:
        reasons = _reasons(rows).get(key, {})
        changed = {"open_count": sum(reasons.values()), "reasons": reasons}
    if changed:
        rows.update(**changed)
    if kept is SUBJECTS:
        cache.post_changed(row.subj_id)


def _less(row: Any, column: str, by: int) -> int:
    return max(0, int(getattr(row, column)) - by)


@db.atomic
def _keep(found: Found, *, fix: bool) -> None:
    """Keep what was found for the metric, and forget the oldest."""
    drift = {name: found.drift[name] for name in COUNTERS}
    check = CountCheck.objects.create(
        finished_at=db.now_ms(), rows=found.rows, wrong=found.wrong, drift=drift, fixed=fix
    )
    CountCheck.objects.filter(pk__lte=check.pk - KEPT_CHECKS).delete()
