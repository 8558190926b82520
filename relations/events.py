"""Events that the relations app publishes.

Type names and payload fields are those of D5: type, fromUserId, toUserId, id. An event is published
only for a real 0 <-> 1 transition of one direction (T19): a block between friends ends two follows,
so it publishes two FollowCanceled and one Blocked.
"""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _PairEvent(DomainEvent):
    """A transition; `id` is the row of (from_user, to_user), `version` the pair's new version."""

    aggregate_type: ClassVar[str] = "following"
    aggregate_field: ClassVar[str] = "id"

    id: int
    from_user_id: int
    to_user_id: int
    version: int


@dataclass(frozen=True, slots=True)
class FollowCreated(_PairEvent):
    """from_user started to follow to_user."""


@dataclass(frozen=True, slots=True)
class FollowCanceled(_PairEvent):
    """from_user stopped following to_user: by unfollowing, or by a block of either side."""


@dataclass(frozen=True, slots=True)
class Blocked(_PairEvent):
    """from_user blocked to_user."""

    aggregate_type: ClassVar[str] = "blocking"


@dataclass(frozen=True, slots=True)
class Unblocked(_PairEvent):
    """from_user unblocked to_user."""

    aggregate_type: ClassVar[str] = "blocking"
