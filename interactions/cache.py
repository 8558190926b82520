"""What interactions keep in Redis: the counts of posts, and which posts a person likes (A34).

- Both are forgotten after the commit of every like, unlike, comment and deletion of a comment, and
  once more by its event. Nothing is ever added to what is cached, so no order can be wrong.
- The likes of a person are one HASH, post → like, of those with the highest post ids. It is
  complete above its `threshold`, 0 when these are all: a post above that is not in it is not liked,
  one at or below it is up to the database. Ids of posts never change, so nothing crosses the
  threshold as comments would by their likes (T53).
- The key of the likes first holds the lease of whoever fills it in, as text: forgetting takes the
  one as well as the other, and a read of the lease as a HASH is a miss (T45).
"""

import secrets
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial

from django.db import transaction

from socialsite.core import db, redis
from socialsite.core.leased import LEASE_MS, LeasedCache

# "<likes> <comments>" of a post.
COUNTS = LeasedCache("counts", ttl_ms=600_000)
LIKED_MAX = 500
LIKED_TTL_MS = 3_600_000
_THRESHOLD = "threshold"


def _liked(user_id: int) -> str:
    return f"liked:{user_id}"


# --- what writers tell --------------------------------------------------------------------------
def post_changed(post_id: int, liker_id: int | None = None) -> None:
    """Forget the counts of a post after the commit of what is under way.

    And the likes of a person who began or ceased to like it.
    """
    transaction.on_commit(partial(forget, post_id, liker_id), robust=True)


def forget(post_id: int, liker_id: int | None = None) -> None:
    """Forget what `post_changed` names at once; call it after the commit. Never raises."""
    keys = [COUNTS.key(post_id)]
    if liker_id is not None:
        keys.append(_liked(liker_id))
    redis.forget(keys)


# --- likes of a person --------------------------------------------------------------------------
class AskedLiked:
    """Likes of posts asked for in a batch."""

    def __init__(self, post_ids: Sequence[int], promise: redis.Promise[list[bytes | None]]) -> None:
        self._post_ids, self._promise = post_ids, promise

    @property
    def found(self) -> dict[int, bool] | None:
        """Whether they are liked, of the posts of which the cache knows; None for no cache."""
        try:
            threshold, *likes = self._promise.value
        except redis.RedisDown:
            return None
        if threshold is None:
            return None
        pairs = zip(self._post_ids, likes, strict=True)
        liked = {post_id for post_id, like in pairs if like is not None}
        return _verdicts(self._post_ids, liked, int(threshold))


def ask_liked(batch: redis.Batch, user_id: int, post_ids: Sequence[int]) -> AskedLiked:
    """Add the read of which of these posts a person likes to a batch."""
    if db.in_transaction():  # as in `core.leased`
        return AskedLiked(post_ids, redis.Promise())
    return AskedLiked(post_ids, batch.add("HMGET", _liked(user_id), _THRESHOLD, *post_ids))


def load_liked(
    user_id: int,
    post_ids: Collection[int],
    read: Callable[[int], Sequence[tuple[int, int]]],
) -> dict[int, bool]:
    """Cache the likes of a person; returns what they say about these posts, as `found` does.

    `read(limit)` gives the likes of the highest post ids, that one first, as (post, like). It is
    not called, and nothing is said, without Redis or while somebody else is filling the cache in.
    """
    lease = _take(user_id)
    if lease is None:
        return {}
    rows = read(LIKED_MAX + 1)
    threshold = rows[LIKED_MAX][0] if len(rows) > LIKED_MAX else 0
    likes = dict(rows[:LIKED_MAX])
    values: list[object] = [_THRESHOLD, threshold]
    for post_id, like_id in likes.items():
        values += [post_id, like_id]
    script = redis.script(__file__, "liked_fill")
    redis.send_later(*script.command([_liked(user_id)], [lease, LIKED_TTL_MS, *values]))
    return _verdicts(post_ids, likes, threshold)


def _take(user_id: int) -> str | None:
    if db.in_transaction():
        return None
    key, lease = _liked(user_id), secrets.token_hex(8)
    batch = redis.Batch()
    taken: redis.Promise[bytes | None] = batch.add("SET", key, lease, "NX", "PX", LEASE_MS)
    batch.run()
    try:
        return lease if taken.value else None
    except redis.RedisDown:
        return None


def _verdicts(post_ids: Collection[int], liked: Container[int], threshold: int) -> dict[int, bool]:
    return {
        post_id: post_id in liked for post_id in post_ids if post_id in liked or post_id > threshold
    }
