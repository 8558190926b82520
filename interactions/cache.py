"""What interactions keep in Redis: the counts of posts, and what a person did to posts (A34).

- Both are forgotten after the commit of everything that changes them, and once more by its event.
  Nothing is ever added to what is cached, so no order can be wrong.
- What a person did is one HASH, post → the like's id, and letters for a bookmark and a repost, of
  the posts with the highest ids. It is complete above its `threshold`, 0 when these are all: to a
  post above that is not in it nothing was done, one at or below it is up to the database. Ids of
  posts never change, so nothing crosses the threshold as comments would by their likes (T53). One
  threshold for all kinds, the highest of theirs: below any of them the database is asked anyway.
- The key of the HASH first holds the lease of whoever fills it in, as text: forgetting takes the
  one as well as the other, and a read of the lease as a HASH is a miss (T45).
"""

import enum
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from django.db import transaction

from socialsite.core import db, redis
from socialsite.core.leased import LEASE_MS, LeasedCache

# "<likes> <comments> <reposts> <bookmarks>" of a post.
COUNTS = LeasedCache("tallies", ttl_ms=600_000)
# How many notifications a person has not read (`queries.notifications`).
UNREAD = LeasedCache("unread", ttl_ms=600_000)
# Posts of each kind in the HASH of a person.
MINE_MAX = 500
MINE_TTL_MS = 3_600_000
_THRESHOLD = "threshold"
_BOOKMARK, _REPOST = b"b", b"r"


class Mine(enum.IntFlag):
    """What a person did to a post."""

    LIKED = 1
    BOOKMARKED = 2
    REPOSTED = 4


class Rows(NamedTuple):
    """What a person did to the posts of the highest ids, that of the highest first.

    Likes are (post, like), the others are posts.
    """

    likes: Sequence[tuple[int, int]]
    bookmarks: Sequence[int]
    reposts: Sequence[int]


def _mine(user_id: int) -> str:
    return f"mine:{user_id}"


# --- what writers tell --------------------------------------------------------------------------
def post_changed(post_id: int, person_id: int | None = None) -> None:
    """Forget the counts of a post after the commit of what is under way.

    And what a person did to posts, if that changed too.
    """
    transaction.on_commit(partial(forget, post_id, person_id), robust=True)


def forget(post_id: int, person_id: int | None = None) -> None:
    """Forget what `post_changed` names at once; call it after the commit. Never raises."""
    keys = [COUNTS.key(post_id)]
    if person_id is not None:
        keys.append(_mine(person_id))
    redis.forget(keys)


def forget_unread(user_ids: Iterable[int]) -> None:
    """Forget how much these people have not read; call it after the commit. Never raises."""
    UNREAD.forget(user_ids)


# --- what a person did --------------------------------------------------------------------------
class AskedMine:
    """What a person did to some posts, asked for in a batch."""

    def __init__(self, post_ids: Sequence[int], promise: redis.Promise[list[bytes | None]]) -> None:
        self._post_ids, self._promise = post_ids, promise

    @property
    def found(self) -> dict[int, int] | None:
        """Bits of `Mine` of the posts of which the cache knows; None for no cache."""
        try:
            threshold, *values = self._promise.value
        except redis.RedisDown:
            return None
        if threshold is None:
            return None
        known = int(threshold)
        return {
            post_id: 0 if value is None else _bits(value)
            for post_id, value in zip(self._post_ids, values, strict=True)
            if post_id > known
        }


def ask_mine(batch: redis.Batch, user_id: int, post_ids: Sequence[int]) -> AskedMine:
    """Add the read of what a person did to these posts to a batch."""
    if db.in_transaction():  # as in `core.leased`
        return AskedMine(post_ids, redis.Promise())
    return AskedMine(post_ids, batch.add("HMGET", _mine(user_id), _THRESHOLD, *post_ids))


def load_mine(
    user_id: int, post_ids: Collection[int], read: Callable[[int], Rows]
) -> dict[int, int]:
    """Cache what a person did; returns what that says about these posts, as `found` does.

    `read(limit)` gives so many rows of each kind. It is not called, and nothing is said, without
    Redis or while somebody else is filling the cache in.
    """
    lease = _take(user_id)
    if lease is None:
        return {}
    threshold, mine = _pack(read(MINE_MAX + 1))
    values: list[object] = [_THRESHOLD, threshold]
    for post_id, value in mine.items():
        values += [post_id, value]
    script = redis.script(__file__, "mine_fill")
    redis.send_later(*script.command([_mine(user_id)], [lease, MINE_TTL_MS, *values]))
    return {
        post_id: _bits(mine[post_id]) if post_id in mine else 0
        for post_id in post_ids
        if post_id > threshold
    }


def _take(user_id: int) -> str | None:
    if db.in_transaction():
        return None
    key, lease = _mine(user_id), secrets.token_hex(8)
    batch = redis.Batch()
    taken: redis.Promise[bytes | None] = batch.add("SET", key, lease, "NX", "PX", LEASE_MS)
    batch.run()
    try:
        return lease if taken.value else None
    except redis.RedisDown:
        return None


def _pack(rows: Rows) -> tuple[int, dict[int, bytes]]:
    """Return the threshold, and what the HASH holds of each post above it."""
    likes = dict(rows.likes)
    whole = (list(likes), rows.bookmarks, rows.reposts)
    threshold = max(posts[MINE_MAX] if len(posts) > MINE_MAX else 0 for posts in whole)
    mine = {post_id: b"%d" % like for post_id, like in likes.items() if post_id > threshold}
    for letter, posts in ((_BOOKMARK, rows.bookmarks), (_REPOST, rows.reposts)):
        for post_id in posts:
            if post_id > threshold:
                mine[post_id] = mine.get(post_id, b"") + letter
    return threshold, mine


def _bits(value: bytes) -> int:
    bits = 0 if value.startswith((_BOOKMARK, _REPOST)) else Mine.LIKED.value
    if _BOOKMARK in value:
        bits |= Mine.BOOKMARKED.value
    return bits | Mine.REPOSTED.value if _REPOST in value else bits
