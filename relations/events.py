"""What relations tell. Type names and payload fields of D5 stand: type, fromUserId, toUserId, id."""

from dataclasses import dataclass
from typing import ClassVar

from socialsite.core.events import DomainEvent


@dataclass(frozen=True, slots=True)
class _PairEvent(DomainEvent):
    """A real transition of the pair; `id` is the actor's row, `version` the pair's number after it."""

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
