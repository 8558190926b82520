"""What relations tell. Type names and payload fields of D5 stand: type, fromUserId, toUserId, id.

An event is published on a real 0 <-> 1 transition of one direction only (T19): a block between
friends ends two follows, so it tells two FollowCanceled and one Blocked.
"""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _PairEvent(DomainEvent):
    """A real transition; `id` is the row of (from_user, to_user), `version` the pair's after it."""

    aggregate_type: ClassVar[str] = "following"
    aggregate_field: ClassVar[str] = "id"

    id: int
    from_user_id: int
    to_user_id: int
    version: int


@dataclass(frozen=True, slots=True)
class FollowCreated(_PairEvent):
    """from_user follows to_user now."""


@dataclass(frozen=True, slots=True)
class FollowCanceled(_PairEvent):
    """from_user no longer follows to_user, by unfollowing or by a block of either side."""


@dataclass(frozen=True, slots=True)
class Blocked(_PairEvent):
    """from_user blocks to_user now."""

    aggregate_type: ClassVar[str] = "blocking"


@dataclass(frozen=True, slots=True)
class Unblocked(_PairEvent):
    """from_user no longer blocks to_user."""

    aggregate_type: ClassVar[str] = "blocking"
