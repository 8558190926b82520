"""The 28 transitions of a pair (A32), both rows, written out apart from the tested table."""

from typing import Any

import pytest

from relations.models import Relation
from relations.pairs.states import Action

NONE = None
FOLLOWING, FOLLOWED = Relation.FOLLOWING, Relation.FOLLOWED
BLACKLISTING, BLACKLISTED = Relation.BLACKLISTING, Relation.BLACKLISTED
BI_FOLLOWING, BI_BLACKLISTING = Relation.BI_FOLLOWING, Relation.BI_BLACKLISTING
REFUSED = "refused"
# Pair before -> pair after follow, unfollow, block, unblock.
TABLE: dict[Any, list[Any]] = {
    (NONE, NONE): [
        (FOLLOWING, FOLLOWED),
        (NONE, NONE),
        (BLACKLISTING, BLACKLISTED),
        (NONE, NONE),
    ],
    (FOLLOWING, FOLLOWED): [
        (FOLLOWING, FOLLOWED),
        (NONE, NONE),
        (BLACKLISTING, BLACKLISTED),
        (FOLLOWING, FOLLOWED),
    ],
    (FOLLOWED, FOLLOWING): [
        (BI_FOLLOWING, BI_FOLLOWING),
        (FOLLOWED, FOLLOWING),
        (BLACKLISTING, BLACKLISTED),
        (FOLLOWED, FOLLOWING),
    ],
    (BI_FOLLOWING, BI_FOLLOWING): [
        (BI_FOLLOWING, BI_FOLLOWING),
        (FOLLOWED, FOLLOWING),
        (BLACKLISTING, BLACKLISTED),
        (BI_FOLLOWING, BI_FOLLOWING),
    ],
    (BLACKLISTING, BLACKLISTED): [
        (BLACKLISTING, BLACKLISTED),
        (BLACKLISTING, BLACKLISTED),
        (BLACKLISTING, BLACKLISTED),
        (NONE, NONE),
    ],
    (BLACKLISTED, BLACKLISTING): [
        REFUSED,
        (BLACKLISTED, BLACKLISTING),
        (BI_BLACKLISTING, BI_BLACKLISTING),
        (BLACKLISTED, BLACKLISTING),
    ],
    (BI_BLACKLISTING, BI_BLACKLISTING): [
        (BI_BLACKLISTING, BI_BLACKLISTING),
        (BI_BLACKLISTING, BI_BLACKLISTING),
        (BI_BLACKLISTING, BI_BLACKLISTING),
        (BLACKLISTED, BLACKLISTING),
    ],
}
ACTIONS = [Action.FOLLOW, Action.UNFOLLOW, Action.BLOCK, Action.UNBLOCK]
CELLS = [
    pytest.param(before, action, after, id=f"{before[0]}-{action}")
    for before, row in TABLE.items()
    for action, after in zip(ACTIONS, row, strict=True)
]
