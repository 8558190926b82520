"""Live hints to connected readers that there are new posts; their page then fetches the count."""

import time
from collections.abc import Iterable

from accounts import live_hint_types, live_hints
from accounts.models import User
from relations import queries as relations_queries

BATCH = 1000
OLD_MS = 3_600_000
NEW_POSTS = live_hint_types.register("new_posts", catch_up={"count": 0})


def anybody() -> bool:
    """Return True if anybody has a page open, or if Redis is down."""
    return live_hints.anyone_perhaps_online()


def watching(ids: Iterable[int]) -> set[int]:
    """Return the ids with a page open; all ids if Redis is down."""
    return live_hints.perhaps_online(ids)


def publish(ids: Iterable[int], ts_ms: int) -> None:
    """Send a hint about one new post; never raises; it may be late, repeated or lost.

    A post whose time is long past is not new: it was published with `at_ms`.
    """
    if ts_ms < time.time() * 1000 - OLD_MS:
        return
    if found := list(ids):
        live_hints.push(found, {"type": NEW_POSTS, "count": 1})


def online_followers(author_id: int) -> Iterable[list[int]]:
    """Yield batches of an author's followers with a page open; none if the author is banned.

    Yields nothing if Redis is down: there may be millions of followers, and their sockets poll
    then.
    """
    if not anybody() or not User.objects.active().filter(pk=author_id).exists():
        return
    everybody = sorted(live_hints.all_online() - {author_id})
    for start in range(0, len(everybody), BATCH):
        batch = everybody[start : start + BATCH]
        yield list(relations_queries.follower_ids(author_id).filter(to_user_id__in=batch))
