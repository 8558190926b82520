"""Counters of relations: each row stores how it has been counted (T22).

`counted` has one bit for each counter of `from_user`. Settling a pair changes the counters by the
difference between the state and the bits, in one transaction with the bits. So each row counts
exactly once, even if events are repeated or reordered, and no counter passes through a negative
number.
"""

import logging
from collections.abc import Mapping

from django.db.models import QuerySet

from relations.models import Relation, RelationCount, Relationship
from relations.pairs import locks, states
from socialsite.core import db
from socialsite.core.db.compiled import compiled_update

logger = logging.getLogger(__name__)

FOLLOWING, FOLLOWER, FRIEND, BLOCKED = 1, 2, 4, 8
# FOLLOWING changes with the follow, since it enforces the cap (T23); events settle the others.
BITS = {"following": FOLLOWING, "followers": FOLLOWER, "friends": FRIEND, "blocked": BLOCKED}


def bits(state: states.State) -> int:
    """Return the bits that a row in this state counts as for its `from_user`."""
    return (
        FOLLOWING * states.follows(state)
        | FOLLOWER * states.is_followed(state)
        | FRIEND * (state is Relation.BI_FOLLOWING)
        | BLOCKED * states.blocks(state)
    )


@db.atomic
def settle(one: int, two: int) -> None:
    """Update the counters of both people from the rows of the pair."""
    counters = locks.counters((one, two))
    for row in locks.pair(one, two):
        now = bits(states.of(row))
        if now == row.counted:
            continue
        changes = {
            name: 1 if now & bit else -1 for name, bit in BITS.items() if (now ^ row.counted) & bit
        }
        move(counters[row.from_user_id], changes)
        _set_counted(row.from_user_id, row.to_user_id, now)


def move(count: RelationCount, changes: Mapping[str, int]) -> None:
    """Change locked counters by these amounts.

    A counter that would become negative has drifted, for example in a restored table. That must not
    keep anybody from unfollowing or blocking: it stays at zero, and `recount` repairs it.
    """
    for name, change in changes.items():
        value = getattr(count, name) + change
        if value < 0:
            logger.error("%s of user %s would fall to %s; run recount", name, count.pk, value)
        setattr(count, name, max(0, value))
    names = tuple(changes)
    _set_counters(count.pk, *(getattr(count, name) for name in names), names=names)


@compiled_update
def _set_counted(
    from_user: int, to_user: int, counted: int
) -> "tuple[QuerySet[Relationship], dict[str, int]]":
    return locks.row(from_user, to_user), {"counted": counted}


@compiled_update
def _set_counters(
    user_id: int, *values: int, names: tuple[str, ...]
) -> "tuple[QuerySet[RelationCount], dict[str, int]]":
    return RelationCount.objects.filter(pk=user_id), dict(zip(names, values, strict=True))
