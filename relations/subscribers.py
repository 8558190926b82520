"""Event handlers of relations."""

from relations import cache, counts
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.registry import on


@on(FollowCreated, FollowCanceled, Blocked, Unblocked)
def count(event: FollowCreated | FollowCanceled | Blocked | Unblocked) -> None:
    """Update the counters of both people."""
    counts.settle(event.from_user_id, event.to_user_id)


@on(FollowCreated, FollowCanceled, after=True)
def cached_lists(event: FollowCreated | FollowCanceled) -> None:
    """Update the cached lists of both people."""
    one, two = event.from_user_id, event.to_user_id
    cache.sync([("followers", two, one), ("following", one, two)])
