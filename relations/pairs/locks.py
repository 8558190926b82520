"""Locks of relations in one global order: counters by user id, then the rows of the pair.

In both steps the lower user id comes first. Every writer of these tables takes its locks here, so
two writers never deadlock. Rows are never deleted, hence no gap locks. (Fan-out takes share locks
on them; if it deadlocks with a writer, the database aborts one of the two and `core.db.atomic`
retries it.)
"""

from collections.abc import Iterable

from django.db.models import QuerySet

from relations.models import RelationCount, Relationship
from socialsite.core import db


def counters(user_ids: Iterable[int]) -> dict[int, RelationCount]:
    """Lock the counters of these people and return them by user id; creates missing ones."""
    return {user_id: _counter(user_id) for user_id in sorted(set(user_ids))}


def _counter(user_id: int) -> RelationCount:
    locked = RelationCount.objects.select_for_update()
    row = locked.filter(pk=user_id).first()
    if row is None:
        db.ensure(RelationCount(user_id=user_id))
        row = locked.get(pk=user_id)
    return row


def pair(one: int, two: int, *, make: bool = False) -> tuple[Relationship, Relationship]:
    """Lock both rows of a pair; returns (one's row, two's row).

    With `make`, missing rows are created by an upsert that changes nothing. On InnoDB, unlike
    INSERT IGNORE, it takes the exclusive lock at once, so hot pairs do not deadlock. The column it
    names must never be `relation`. Without `make`, both rows must exist.
    """
    low, high = sorted((one, two))
    if make:
        db.upsert(
            Relationship,
            [
                Relationship(from_user_id=low, to_user_id=high),
                Relationship(from_user_id=high, to_user_id=low),
            ],
            unique_fields=["from_user", "to_user"],
            update_fields=["to_user"],
        )
    locked = Relationship.objects.select_for_update()
    first = locked.get(from_user_id=low, to_user_id=high)
    second = locked.get(from_user_id=high, to_user_id=low)
    return (first, second) if one == low else (second, first)


def row(locked: Relationship) -> "QuerySet[Relationship]":
    """Return a queryset of a locked row for writing, by its whole unique key.

    Not by id alone: the owner determines the shard. Not by id and owner: MariaDB may then read and
    lock all rows of the owner, and hot pairs deadlock.
    """
    return Relationship.objects.filter(from_user=locked.from_user_id, to_user=locked.to_user_id)
