"""Counts of likes, reposts and bookmarks, which many people change at once.

Each like, repost or bookmark writes its change to a row of its own (`CountChange`). It does not
update the row with the count, because all writers of a viral post would queue for its lock. Each
event folds the changes into the counts. In addition the writer of every FOLD_ATth change folds
them, so that readers never have to add up many.
"""

import logging
from collections import Counter
from functools import partial
from typing import Any, TypeVar

from django.db import models, transaction
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from interactions import cache, queries
from interactions.actions.subjects import ensure_subject
from interactions.models import COLUMNS, Comment, CountChange, Counted, Subject, SubjectType
from socialsite.core import db
from socialsite.core.db.compiled import compiled

Row = TypeVar("Row", bound=models.Model)

logger = logging.getLogger(__name__)

# Number of changes of one subject at which the writer folds them, and the maximum of one fold.
FOLD_AT, FOLD_MAX = 64, 1000


def set_row(row: Row, others: "QuerySet[Row]", *, wanted: bool) -> Row | None:
    """Insert or delete a row with a unique key; return it if that changed anything (T52).

    `others` finds the row by its key. Of concurrent callers with one key one writes, the others
    wait.
    """
    if wanted:
        return row if db.insert_once(row) else None
    found = others.first()
    if found is None or not others.filter(pk=found.pk).delete()[0]:
        return None
    return found


def change_count(counted: Counted, subj_type: int, subj_id: int, by: int) -> None:
    """Change a count by one, in the transaction of the counted row."""
    db.insert(CountChange(subj_type=subj_type, subj_id=subj_id, counted=counted, by=by))


def read_count(counted: Counted, subj_type: SubjectType, subj_id: int) -> int:
    """Return a count including this transaction's change, and schedule a fold."""
    found = _numbers.first(subj_id, counted=counted, subj_type=subj_type)
    if found is None:  # first change of this post: a fold needs a row
        ensure_subject(subj_id)
        found = _numbers.first(subj_id, counted=counted, subj_type=subj_type)
    number, waiting = found
    if waiting >= FOLD_AT:
        # Robust: the change is committed, and its event folds as well.
        fold = partial(fold_counts, subj_type, subj_id, wait=False)
        transaction.on_commit(fold, robust=True)
    return int(number)


@db.atomic
def count_repost(post_id: int, author_id: int, by: int) -> None:
    """Change a post's count by one, in the transaction that creates or deletes its repost."""
    change_count(Counted.REPOST, SubjectType.POST, post_id, by)
    read_count(Counted.REPOST, SubjectType.POST, post_id)
    cache.post_changed(post_id, author_id)


@compiled
def _numbers(
    subj_id: int, *, counted: Counted, subj_type: SubjectType
) -> "QuerySet[Any, tuple[int, int]]":
    """Return the count, and the number of changes that wait for a fold."""
    ident = "pk" if subj_type == SubjectType.COMMENT else "subj_id"
    changes = CountChange.objects.filter(subj_type=subj_type, subj_id=OuterRef(ident)).order_by()
    waiting = changes.values("subj_id").annotate(waiting=Count("pk")).values("waiting")
    rows = _counts_row(subj_type, subj_id).annotate(
        number=queries.number_of(counted, subj_type, ident),
        waiting=Coalesce(Subquery(waiting, IntegerField()), 0),
    )
    return rows.values_list("number", "waiting")


@db.atomic
def fold_counts(subj_type: int, subj_id: int, *, wait: bool = True) -> int:
    """Add the committed changes to their counts; return how many changes were folded.

    Without `wait` nothing is done while another fold runs. The counts are locked first, so only one
    caller folds at a time. The changes are read without a lock, from one snapshot, in the order of
    writing. So an unlike is never folded before its like, and no count falls below 0.
    """
    counts = _counts_row(SubjectType(subj_type), subj_id)
    row = counts.select_for_update(skip_locked=not wait).first()
    if row is None:
        return 0
    rows = CountChange.objects.filter(subj_type=subj_type, subj_id=subj_id).order_by("id")
    found = list(rows.values_list("id", "counted", "by")[:FOLD_MAX])
    if found:
        changes: Counter[int] = Counter()
        for _, counted, by in found:
            changes[counted] += by
        counts.update(
            **{COLUMNS[counted]: _moved(row, counted, by) for counted, by in changes.items()}
        )
        CountChange.objects.filter(pk__in=[ident for ident, _, _ in found]).delete()
    return len(found)


def _moved(row: "Subject | Comment", counted: int, by: int) -> int:
    """Return a kept count changed by this number."""
    column = COLUMNS[counted]
    number = int(getattr(row, column)) + by
    if number < 0:  # caused from outside, a restore for instance: it must not prevent unlikes
        logger.error("%s of %r would fall to %s; using 0", column, row, number)
    return max(0, number)


def _counts_row(subj_type: SubjectType, subj_id: int) -> "QuerySet[Subject] | QuerySet[Comment]":
    """Return the row with the counts."""
    if subj_type == SubjectType.COMMENT:
        return Comment.objects.filter(pk=subj_id)
    return Subject.objects.filter(subj_type=subj_type, subj_id=subj_id)
