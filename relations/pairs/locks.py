"""Locks of relations in one global order: counters by user id, then the rows of the pair.

In both steps the lower user id comes first. Every writer of these tables takes its locks here, so
two writers never deadlock. Rows are deleted only with an account. (Fan-out takes share locks on
them; if it deadlocks with a writer, the database aborts one of the two and `core.db.atomic` retries
it.)
"""

from collections.abc import Iterable
from typing import cast

from django.db.models import QuerySet

from relations.models import RelationCount, Relationship
from socialsite.core import db
from socialsite.core.db.compiled import compiled


def counters(user_ids: Iterable[int]) -> dict[int, RelationCount]:
    """Lock the counters of these people and return them by user id; creates missing ones."""
    return {user_id: _counter(user_id) for user_id in sorted(set(user_ids))}


def _counter(user_id: int) -> RelationCount:
    found: RelationCount | None = _locked_counter.first(user_id)
    if found is None:
        db.ensure(RelationCount(user_id=user_id))
        found = cast("RelationCount", _locked_counter.first(user_id))
    return found


@compiled
def _locked_counter(user_id: int) -> "QuerySet[RelationCount]":
    return RelationCount.objects.select_for_update().filter(pk=user_id)


def pair(one: int, two: int, *, make: bool = False) -> tuple[Relationship, Relationship]:
    """Lock both rows of a pair; returns (one's row, two's row).

    With `make`, missing rows are created. That takes the exclusive lock at once (`db.ensure`), so
    hot pairs do not deadlock. Without `make`, both rows exist, unless an account was erased at this
    moment: they are made again then, and erased again.
    """
    low, high = sorted((one, two))
    if make:
        _make(low, high)
    found = _locked_row(low, high), _locked_row(high, low)
    if not all(found):
        _make(low, high)
        found = _locked_row(low, high), _locked_row(high, low)
    (first,), (second,) = found
    return (first, second) if one == low else (second, first)


def _make(low: int, high: int) -> None:
    db.ensure(
        Relationship(from_user_id=low, to_user_id=high),
        Relationship(from_user_id=high, to_user_id=low),
    )


@compiled
def _locked_row(from_user: int, to_user: int) -> "QuerySet[Relationship]":
    return row(from_user, to_user).select_for_update()


def row(from_user: int, to_user: int) -> "QuerySet[Relationship]":
    """Return a queryset of one row by its whole unique key.

    Not by id alone: the owner determines the shard. Not by id and owner: MariaDB may then read and
    lock all rows of the owner, and hot pairs deadlock.
    """
    return Relationship.objects.filter(from_user_id=from_user, to_user_id=to_user)
