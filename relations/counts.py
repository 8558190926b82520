"""Counters that follow the facts: each row knows what it has been counted as (T22).

`counted` keeps a bit per counter of `from_user`. Settling a pair moves the counters by the
difference between what the rows say and what was counted, in one transaction with the bits: exactly
once, whatever events are repeated or out of order, and never through a negative number.
"""

from django.db.models import F

from relations import locks, states
from relations.models import Relation, RelationCount
from socialsite.core import db

FOLLOWING, FOLLOWER, FRIEND, BLOCKED = 1, 2, 4, 8
# FOLLOWING moves with the fact, since it gates the cap (T23); the others are settled by event.
BITS = {"following": FOLLOWING, "followers": FOLLOWER, "friends": FRIEND, "blocked": BLOCKED}


def bits(state: states.State) -> int:
    """Return what a row in this state counts as for its `from_user`."""
    return (
        FOLLOWING * states.follows(state)
        | FOLLOWER * states.is_followed(state)
        | FRIEND * (state is Relation.BI_FOLLOWING)
        | BLOCKED * states.blocks(state)
    )


@db.atomic
def settle(one: int, two: int) -> None:
    """Make the counters of both people agree with the rows of the pair."""
    locks.counters((one, two))
    for row in locks.pair(one, two):
        now = bits(states.of(row))
        if now == row.counted:
            continue
        changes = {
            name: F(name) + (1 if now & bit else -1)
            for name, bit in BITS.items()
            if (now ^ row.counted) & bit
        }
        RelationCount.objects.filter(pk=row.from_user_id).update(**changes)
        locks.row(row).update(counted=now)
