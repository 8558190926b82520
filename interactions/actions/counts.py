"""Counts of likes, reposts and bookmarks, which many people move at once.

Whoever likes, reposts or keeps something writes the change in a row of its own (`CountChange`), and
not to the row that has the count, which everybody would queue for when a post is viral. The changes
are folded into the counts by the event of each, and before that by whoever makes the FOLD_ATth of
them, so that there are never many to add up.
"""

import logging
from collections import Counter
from functools import partial
from typing import TypeVar

from django.db import models, transaction
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from interactions import queries
from interactions.actions.subjects import ensure_subject
from interactions.models import COLUMNS, Comment, CountChange, Counted, Subject, SubjectType
from socialsite.core import db

Row = TypeVar("Row", bound=models.Model)

logger = logging.getLogger(__name__)

# Changes of one subject at which whoever makes one folds them, and how many a fold takes at once.
FOLD_AT, FOLD_MAX = 64, 1000


def set_row(row: Row, others: "QuerySet[Row]", *, wanted: bool) -> Row | None:
    """Make a row with a unique key be or not be; returns it when it was not so before (T52).

    `others` finds what has its key. Of several at once for one key one writes, the others wait.
    """
    if wanted:
        return row if db.insert_once(row) else None
    found = others.first()
    if found is None or not others.filter(pk=found.pk).delete()[0]:
        return None
    return found


def change_count(counted: Counted, subj_type: int, subj_id: int, by: int) -> None:
    """Move a count by one, in the transaction of what is counted."""
    CountChange.objects.create(subj_type=subj_type, subj_id=subj_id, counted=counted, by=by)


def read_count(counted: Counted, subj_type: SubjectType, subj_id: int) -> int:
    """Return a number with what the transaction changed; sees to it that changes are folded."""
    ident = "pk" if subj_type == SubjectType.COMMENT else "subj_id"
    changes = CountChange.objects.filter(subj_type=subj_type, subj_id=OuterRef(ident)).order_by()
    waiting = changes.values("subj_id").annotate(waiting=Count("pk")).values("waiting")
    rows = _kept(subj_type, subj_id).annotate(
        number=queries.number_of(counted, subj_type, ident),
        waiting=Coalesce(Subquery(waiting, IntegerField()), 0),
    )
    found = rows.values_list("number", "waiting").first()
    if found is None:  # the first change of this post, which a fold needs a row for
        ensure_subject(subj_id)
        found = rows.values_list("number", "waiting").get()
    if found[1] >= FOLD_AT:
        # Robust: the change is committed, and its event folds as well.
        fold = partial(fold_counts, subj_type, subj_id, wait=False)
        transaction.on_commit(fold, robust=True)
    return int(found[0])


@db.atomic
def fold_counts(subj_type: int, subj_id: int, *, wait: bool = True) -> int:
    """Add the changes that are committed to the counts they belong to; returns how many.

    Without `wait` nothing is done while somebody else folds. The counts are locked first, so
    changes are folded by one at a time, and they are read without a lock, as of one moment, in the
    order they were written: a person's unlike is never folded before the like that it takes back,
    so no count falls below nothing.
    """
    kept = _kept(SubjectType(subj_type), subj_id)
    row = kept.select_for_update(skip_locked=not wait).first()
    if row is None:
        return 0
    rows = CountChange.objects.filter(subj_type=subj_type, subj_id=subj_id).order_by("id")
    found = list(rows.values_list("id", "counted", "by")[:FOLD_MAX])
    if found:
        changes: Counter[int] = Counter()
        for _, counted, by in found:
            changes[counted] += by
        kept.update(
            **{COLUMNS[counted]: _moved(row, counted, by) for counted, by in changes.items()}
        )
        CountChange.objects.filter(pk__in=[ident for ident, _, _ in found]).delete()
    return len(found)


def _moved(row: "Subject | Comment", counted: int, by: int) -> int:
    """Return a kept count moved by so much."""
    column = COLUMNS[counted]
    number = int(getattr(row, column)) + by
    if number < 0:  # by what is not ours, a restored table say: nobody is kept from unliking
        logger.error("%s of %r would fall to %s", column, row, number)
    return max(0, number)


def _kept(subj_type: SubjectType, subj_id: int) -> "QuerySet[Subject] | QuerySet[Comment]":
    """Return the row that has the counts."""
    if subj_type == SubjectType.COMMENT:
        return Comment.objects.filter(pk=subj_id)
    return Subject.objects.filter(subj_type=subj_type, subj_id=subj_id)
