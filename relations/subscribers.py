"""What relations does when a fact was told, by itself or by a lower app."""

from relations import counts
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.registry import on


@on(FollowCreated, FollowCanceled, Blocked, Unblocked)
def count(event: FollowCreated | FollowCanceled | Blocked | Unblocked) -> None:
    """Let the counters of both people follow the pair."""
    counts.settle(event.from_user_id, event.to_user_id)
