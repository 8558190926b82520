"""State machine of a pair with six states, as one pure table (A32); no relation is None.

The two rows of a pair always mirror each other, so a cell needs only my row: 7 states x 4 actions.
Seven pairs are legal, and every transition leads from a legal pair to a legal pair.
"""

import enum
from typing import NamedTuple

from relations.models import Relation, Relationship
from socialsite.core.errors import Blacklisted

State = Relation | None

_FOLLOWING, _FOLLOWED = Relation.FOLLOWING, Relation.FOLLOWED
_BLOCKING, _BLOCKED_BY = Relation.BLACKLISTING, Relation.BLACKLISTED
_FRIENDS, _BOTH_BLOCKING = Relation.BI_FOLLOWING, Relation.BI_BLACKLISTING


class Action(enum.StrEnum):
    """An action of one person on another."""

    FOLLOW = "follow"
    UNFOLLOW = "unfollow"
    BLOCK = "block"
    UNBLOCK = "unblock"


class Pair(NamedTuple):
    """States of both rows of a pair."""

    mine: State
    other: State


# The other person's row for each row of mine.
MIRROR: dict[State, State] = {
    None: None,
    _FOLLOWING: _FOLLOWED,
    _FOLLOWED: _FOLLOWING,
    _FRIENDS: _FRIENDS,
    _BLOCKING: _BLOCKED_BY,
    _BLOCKED_BY: _BLOCKING,
    _BOTH_BLOCKING: _BOTH_BLOCKING,
}

# My row before -> my row after follow, unfollow, block, unblock. `transition` refuses one cell.
# Unfollowing never removes a follower; unblocking never restores an old follow.
_AFTER: dict[State, tuple[State, State, State, State]] = {
    None: (_FOLLOWING, None, _BLOCKING, None),
    _FOLLOWING: (_FOLLOWING, None, _BLOCKING, _FOLLOWING),
    _FOLLOWED: (_FRIENDS, _FOLLOWED, _BLOCKING, _FOLLOWED),
    _FRIENDS: (_FRIENDS, _FOLLOWED, _BLOCKING, _FRIENDS),
    _BLOCKING: (_BLOCKING, _BLOCKING, _BLOCKING, None),
    _BLOCKED_BY: (_BLOCKED_BY, _BLOCKED_BY, _BOTH_BLOCKING, _BLOCKED_BY),
    _BOTH_BLOCKING: (_BOTH_BLOCKING, _BOTH_BLOCKING, _BOTH_BLOCKING, _BLOCKED_BY),
}
_COLUMN = {action: column for column, action in enumerate(Action)}


def of(row: Relationship | None) -> State:
    """Return the state of a row; no row means no relation."""
    return None if row is None else read(row.relation)


def read(value: int | None) -> State:
    """Return the state of a column value."""
    return None if value is None else Relation(value)


def transition(mine: State, action: Action) -> Pair:
    """Return both rows after `action` by the owner of `mine`; the same rows when nothing changes.

    Raises Blacklisted for a follow of a person who blocks the actor and is not blocked back.
    """
    if mine is _BLOCKED_BY and action is Action.FOLLOW:
        raise Blacklisted
    after = _AFTER[mine][_COLUMN[action]]
    return Pair(after, MIRROR[after])


def follows(state: State) -> bool:
    """Return whether the owner of the row follows the other person."""
    return state in (_FOLLOWING, _FRIENDS)


def is_followed(state: State) -> bool:
    """Return whether the other person follows the owner of the row."""
    return state in (_FOLLOWED, _FRIENDS)


def blocks(state: State) -> bool:
    """Return whether the owner of the row blocks the other person."""
    return state in (_BLOCKING, _BOTH_BLOCKING)


def is_blocked(state: State) -> bool:
    """Return whether the other person blocks the owner of the row."""
    return state in (_BLOCKED_BY, _BOTH_BLOCKING)


def blocked_either_way(state: State) -> bool:
    """Return whether one of the two blocks the other, so that each is hidden from the other."""
    return blocks(state) or is_blocked(state)
