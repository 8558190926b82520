"""What interactions keep in Redis: counts of posts, what a person did to posts (A34), and likes of
comments (A35).

- All are forgotten after the commit of everything that changes them, and once more by its event.
  Nothing is ever added to what is cached, so no order can be wrong.
- What a person did is one HASH, post → the like's id, and letters for a bookmark and a repost, of
  the posts with the highest ids. It is complete above its `threshold`, 0 when these are all: to a
  post above that is not in it nothing was done, one at or below it is up to the database. Ids of
  posts never change, so nothing crosses the threshold as comments would by their likes (T53). One
  threshold for all kinds, the highest of theirs: below any of them the database is asked anyway.
- The likes of a person in one thread are one HASH too, comment → like, of the most liked comments
  and of those the newest (A35). What is in it is liked. What is not, is not liked only if these are
  all, which `threshold_like` = `threshold_id` = 0 says; else they are the place of the last that is
  in it, and the database is asked, for a comment that had fewer likes then may have more by now
  (T53).
- The key of a HASH first holds the lease of whoever fills it in, as text: forgetting takes the
  one as well as the other, and a read of the lease as a HASH is a miss (T45).
"""

import enum
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from django.db import transaction

from socialsite.core import redis
from socialsite.core.leased import Lease, LeasedCache

# "<likes> <comments> <reposts> <bookmarks>" of a post.
COUNTS = LeasedCache("tallies", ttl_ms=600_000)
# How many notifications a person has not read (`queries.notifications`).
UNREAD = LeasedCache("unread", ttl_ms=600_000)
# Not more often are a reader's notifications folded because they have a page open.
FOLD_PAUSE_MS = 1000
# "<token>:<number>" of a comment: live replies by people who are banned or gone.
GONE = LeasedCache("gone", ttl_ms=3_600_000)
# Posts of each kind in the HASH of a person.
MINE_MAX = 500
MINE_TTL_MS = 3_600_000
# Comments in the HASH of a person and a thread.
LIKED_MAX = 500
LIKED_TTL_MS = 3_600_000
_THRESHOLD = "threshold"
_THRESHOLD_LIKE, _THRESHOLD_ID = "threshold_like", "threshold_id"
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


def take_turn(user_id: int) -> bool:
    """True once in FOLD_PAUSE_MS: whoever asks then brings a reader's notifications up to date."""
    batch = redis.Batch()
    taken: redis.Promise[bytes | None] = batch.add(
        "SET", f"fold:{user_id}", 1, "NX", "PX", FOLD_PAUSE_MS
    )
    batch.run()
    try:
        return bool(taken.value)
    except redis.RedisDown:
        return False


def forget_unread(user_ids: Iterable[int]) -> None:
    """Forget how much these people have not read; call it after the commit. Never raises."""
    UNREAD.forget(user_ids)


def reply_gone(above: Collection[int]) -> None:
    """Forget what is taken off the replies of comments after the commit of what is under way."""
    transaction.on_commit(partial(GONE.forget, list(above)), robust=True)


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
    if batch.in_transaction:  # as in `core.leased`
        return AskedMine(post_ids, redis.Promise())
    return AskedMine(post_ids, batch.add("HMGET", _mine(user_id), _THRESHOLD, *post_ids))


def lease_mine(batch: redis.Batch, user_id: int) -> Lease:
    """Ask for what `load_mine` needs to cache what a person did."""
    return Lease(batch, [_mine(user_id)])


def load_mine(
    user_id: int,
    post_ids: Collection[int],
    read: Callable[[int], Rows],
    lease: Lease | None = None,
) -> dict[int, int]:
    """Cache what a person did; returns what that says about these posts, as `found` does.

    `read(limit)` gives so many rows of each kind. It is not called, and nothing is said, without
    Redis or while somebody else is filling the cache in.
    """
    key = _mine(user_id)
    lease = lease or Lease.at_once([key])
    if not lease.had:
        return {}
    threshold, mine = _pack(read(MINE_MAX + 1))
    values: list[object] = [_THRESHOLD, threshold]
    for post_id, value in mine.items():
        values += [post_id, value]
    _fill(key, lease, MINE_TTL_MS, values)
    return {
        post_id: _bits(mine[post_id]) if post_id in mine else 0
        for post_id in post_ids
        if post_id > threshold
    }


def _fill(key: str, lease: Lease, ttl_ms: int, values: Sequence[object]) -> None:
    script = redis.script(__file__, "hash_fill")
    redis.send_later(*script.command([key], [lease.token, ttl_ms, *values]))


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


# --- likes of comments --------------------------------------------------------------------------
class LikedRow(NamedTuple):
    """A comment that a person likes, with its likes as kept then, and the id of the like."""

    like_count: int
    comment_id: int
    like_id: int


def _liked(user_id: int, thread: int) -> str:
    return f"liked:{user_id}:{thread}"


def liked_changed(user_id: int, thread: int) -> None:
    """Forget a person's likes in a thread after the commit of what is under way."""
    transaction.on_commit(partial(forget_liked, user_id, thread), robust=True)


def forget_liked(user_id: int, thread: int) -> None:
    """Forget a person's likes in a thread at once; call it after the commit. Never raises."""
    redis.forget([_liked(user_id, thread)])


class AskedLiked:
    """Likes of comments of one thread asked for in a batch."""

    def __init__(self, comment_ids: Sequence[int], promise: redis.Promise[list[bytes | None]]):
        self._ids, self._promise = comment_ids, promise

    @property
    def found(self) -> dict[int, bool] | None:
        """Whether they are liked, of the comments of which the cache knows; None for no cache."""
        try:
            likes, ident, *values = self._promise.value
        except redis.RedisDown:
            return None
        if likes is None or ident is None:
            return None
        liked = {one for one, value in zip(self._ids, values, strict=True) if value is not None}
        return _verdicts(self._ids, liked, is_complete=int(likes) == int(ident) == 0)


def ask_liked(
    batch: redis.Batch, user_id: int, thread: int, comment_ids: Sequence[int]
) -> AskedLiked:
    """Add the read of which of these comments of a thread a person likes to a batch."""
    if batch.in_transaction:  # as in `core.leased`
        return AskedLiked(comment_ids, redis.Promise())
    fields = (_THRESHOLD_LIKE, _THRESHOLD_ID, *comment_ids)
    return AskedLiked(comment_ids, batch.add("HMGET", _liked(user_id, thread), *fields))


def load_liked(
    user_id: int,
    thread: int,
    comment_ids: Collection[int],
    read: Callable[[int], Sequence[LikedRow]],
) -> dict[int, bool]:
    """Cache a person's likes in a thread; returns what they say of these, as `found` does.

    `read(limit)` gives so many, the most liked comments first, the newer of equals first. It is not
    called, and nothing is said, without Redis or while somebody else is filling the cache in.
    """
    key = _liked(user_id, thread)
    lease = Lease.at_once([key])
    if not lease.had:
        return {}
    rows = read(LIKED_MAX + 1)
    kept = rows[:LIKED_MAX]
    is_complete = len(rows) == len(kept)
    last = (0, 0) if is_complete else kept[-1][:2]
    values: list[object] = [_THRESHOLD_LIKE, last[0], _THRESHOLD_ID, last[1]]
    for row in kept:
        values += [row.comment_id, row.like_id]
    _fill(key, lease, LIKED_TTL_MS, values)
    return _verdicts(comment_ids, {row.comment_id for row in kept}, is_complete=is_complete)


def _verdicts(
    comment_ids: Collection[int], liked: Collection[int], *, is_complete: bool
) -> dict[int, bool]:
    return {one: one in liked for one in comment_ids if is_complete or one in liked}
