"""Counters that follow the facts: each row knows what it has been counted as (T22).

`counted` keeps a bit per counter of `from_user`. Settling a pair moves the counters by the
difference between what the rows say and what was counted, in one transaction with the bits: exactly
once, whatever events are repeated or out of order, and never through a negative number.
"""

import logging
from collections.abc import Mapping

from relations import locks, states
from relations.models import Relation, RelationCount
from socialsite.core import db

logger = logging.getLogger(__name__)

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
    counters = locks.counters((one, two))
    for row in locks.pair(one, two):
        now = bits(states.of(row))
        if now == row.counted:
            continue
        changes = {
            name: 1 if now & bit else -1 for name, bit in BITS.items() if (now ^ row.counted) & bit
        }
        move(counters[row.from_user_id], changes)
        locks.row(row).update(counted=now)


def move(count: RelationCount, changes: Mapping[str, int]) -> None:
    """Move locked counters by so much.

    One that would fall below nothing has drifted by what is not ours, a restored table say: nobody
    must be kept from leaving or blocking by that. It stays at nothing, and `recount` mends it.
    """
    for name, change in changes.items():
        value = getattr(count, name) + change
        if value < 0:
            logger.error("%s of %s would fall to %s: recount", name, count.pk, value)
        setattr(count, name, max(0, value))
    RelationCount.objects.filter(pk=count.pk).update(
        **{name: getattr(count, name) for name in changes}
    )
