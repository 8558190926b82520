"""Event handlers of relations."""

from relations.counters import counts
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.events.registry import on


@on(FollowCreated, FollowCanceled, Blocked, Unblocked)
def count(event: FollowCreated | FollowCanceled | Blocked | Unblocked) -> None:
    """Update the counters of both people."""
    counts.settle(event.from_user_id, event.to_user_id)
