"""Caches of interactions in Redis: counts of posts, people's actions (A34) and likes (A35).

Reads of the database belong to `interactions.queries`.

- Every change deletes the cached values after its commit, and its event deletes them again. Nothing
  is ever added to a cached value, so the order of changes does not matter.
- The actions of a person are one HASH, from post to the like's id and letters for a bookmark, a
  repost and a vote, which is followed by the choices. It has the posts with the highest ids and is
  complete above its `threshold`, which is 0 if all are in it. A post above the threshold that is
  missing has no actions; one at or below it is read from the database. Ids of posts never change,
  so no post crosses the threshold as a comment does with its likes (T53). All kinds share the
  highest of their thresholds, since below any of them the database is asked anyway.
- The likes of a person in one thread are one HASH, from comment to like, of the most liked comments
  and, among equals, the newest (A35). A missing comment is "not liked" only if all likes are in it
  (`threshold_like` = `threshold_id` = 0). Otherwise these two are the place of the last entry, and
  the database is asked: a comment that had fewer likes then may have more now (T53).
- The key of a HASH first holds, as text, the lease of the process that fills it. Deleting the key
  deletes either, and reading the lease as a HASH is a miss (T45).
"""

import enum
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from django.db import transaction

from accounts import queries as accounts_queries
from socialsite.core import redis
from socialsite.core.cache.lease import Lease, LeaseCache, TaggedCache
from socialsite.core.cache.reads import ById
from socialsite.core.db.compiled import UnionRead

T = TypeVar("T")

# "<likes> <comments> <reposts> <bookmarks>" of a post; once somebody voted in its poll, also
# "<people> <option>…" with all counts of a `Tally`.
COUNTS = LeaseCache("tallies2", ttl_ms=600_000)
# The number of unread notifications of a person (`queries.notifications`).
UNREAD = TaggedCache("unread", 600_000, accounts_queries.STANDING)
# Minimum pause between folds of an online reader's notifications.
FOLD_PAUSE_MS = 1000
# The number of live replies to a comment by banned or closed accounts.
GONE = TaggedCache("gone", 3_600_000, accounts_queries.STANDING)
# Posts of each kind in the HASH of a person.
MINE_MAX = 500
MINE_TTL_MS = 3_600_000
# Comments in the HASH of a person and a thread.
LIKED_MAX = 500
LIKED_TTL_MS = 3_600_000
_THRESHOLD = "threshold"
_THRESHOLD_LIKE, _THRESHOLD_ID = "threshold_like", "threshold_id"
_BOOKMARK, _REPOST, _VOTE = b"b", b"r", b"v"
# The bits of a vote are above those of `Mine`.
VOTE_SHIFT = 3


class Mine(enum.IntFlag):
    """A person's actions on a post; the choices of a vote are the bits from VOTE_SHIFT."""

    LIKED = 1
    BOOKMARKED = 2
    REPOSTED = 4


class Rows(NamedTuple):
    """A person's actions on the posts with the highest ids, the highest first.

    Likes are (post, like), votes (post, choices), the others are posts.
    """

    likes: Sequence[tuple[int, int]]
    bookmarks: Sequence[int]
    reposts: Sequence[int]
    votes: Sequence[tuple[int, int]]


def _mine(user_id: int) -> str:
    return f"mine2:{user_id}"


# --- invalidation after writes ------------------------------------------------------------------
def post_changed(post_id: int, person_id: int | None = None) -> None:
    """Invalidate the counts of a post after the current transaction commits.

    And a person's actions on posts, if these changed too.
    """
    transaction.on_commit(partial(invalidate, post_id, person_id), robust=True)


def invalidate(post_id: int, person_id: int | None = None) -> None:
    """Invalidate what `post_changed` does, at once; call it after the commit. Never raises."""
    keys = [COUNTS.key(post_id)]
    if person_id is not None:
        keys.append(_mine(person_id))
    redis.invalidate(keys)


def take_turn(user_id: int) -> bool:
    """Return True once in FOLD_PAUSE_MS: that caller folds the reader's notifications."""
    batch = redis.Batch()
    taken: redis.Promise[bytes | None] = batch.add(
        "SET", f"fold:{user_id}", 1, "NX", "PX", FOLD_PAUSE_MS
    )
    batch.run()
    try:
        return bool(taken.value)
    except redis.RedisDown:
        return False


def invalidate_unread(user_ids: Iterable[int]) -> None:
    """Invalidate unread counts of these people; call it after the commit. Never raises."""
    UNREAD.invalidate(user_ids)


def replies_changed(above: Collection[int]) -> None:
    """Invalidate the `GONE` counts of comments after the current transaction commits."""
    transaction.on_commit(partial(GONE.invalidate, list(above)), robust=True)


# --- HASHes -------------------------------------------------------------------------------------
# Values of a HASH in a reply: first the marks (for which ids it is complete), then the ids.
Reply = Sequence[Any]
# Fields of a HASH: the marks by name, values by id.
Fields = Mapping[Any, Any]


class Hash(NamedTuple):
    """One HASH. `parse` decodes a reply about ids; None if there is no HASH."""

    key: str
    ttl_ms: int
    marks: tuple[str, ...]
    parse: Callable[[Collection[int], Reply], dict[int, Any] | None]


class Marked(ById[T]):
    """A read of some ids from a HASH; a subclass reads a lost HASH from the table.

    Ids that stay `missing` must be read from the database.
    """

    _asked: tuple[list[int], redis.Promise[Reply]] | None = None
    _is_lost = False
    _lease: Lease | None = None
    _fields: Fields = {}

    def __init__(self, cached: Hash, idents: Iterable[int] = ()) -> None:
        self._hash = cached
        super().__init__(idents)

    def read(self) -> Fields:
        """Read the fields of the HASH from the table."""
        raise NotImplementedError

    def ask(self, batch: redis.Batch) -> None:
        fresh, self._fresh = [*self._fresh], set()
        if not batch.in_transaction:  # as in `core.cache.lease`
            names = (*self._hash.marks, *fresh)
            self._asked = fresh, batch.add("HMGET", self._hash.key, *names)

    def take(self) -> None:
        if self._asked is not None:
            idents, promise = self._asked
            found = None if promise.known is None else self._hash.parse(idents, promise.known)
            self._is_lost = self._is_lost or found is None
            self.add_found(found or {})

    def lease(self, batch: redis.Batch) -> None:
        if self._is_lost and self._lease is None:
            self._lease = Lease(batch, [self._hash.key])

    def query(self, union: UnionRead) -> None:
        """Read the fields if the lease was acquired."""
        if self._lease is not None and self._lease.acquired and not self._fields:
            self._fields, idents = self.read(), [*self._wanted]
            reply = [self._fields.get(name) for name in (*self._hash.marks, *idents)]
            self.add_found(self._hash.parse(idents, reply) or {})

    def fill(self) -> None:
        if self._lease is not None and self._fields:
            values = [one for pair in self._fields.items() for one in pair]
            _fill(self._hash.key, self._lease, self._hash.ttl_ms, values)
            self._lease, self._is_lost = None, False


def _fill(key: str, lease: Lease, ttl_ms: int, values: Sequence[object]) -> None:
    script = redis.script(__file__, "hash_fill")
    redis.send_later(*script.command([key], [lease.token, ttl_ms, *values]))


# --- actions of a person ------------------------------------------------------------------------
def mine(user_id: int) -> Hash:
    """Return the HASH of a person's actions on posts."""
    return Hash(_mine(user_id), MINE_TTL_MS, (_THRESHOLD,), _did)


def _did(post_ids: Collection[int], reply: Reply) -> dict[int, int] | None:
    """Return bits of `Mine` for the posts that the HASH covers."""
    if reply[0] is None:
        return None
    known = int(reply[0])
    return {
        post_id: 0 if value is None else _bits(value)
        for post_id, value in zip(post_ids, reply[1:], strict=True)
        if post_id > known
    }


def pack_mine(rows: Rows) -> Fields:
    """Return the fields of the HASH, from the first MINE_MAX + 1 rows of each kind."""
    likes = dict(rows.likes)
    votes = dict(rows.votes)
    whole = (list(likes), rows.bookmarks, rows.reposts, list(votes))
    threshold = max(posts[MINE_MAX] if len(posts) > MINE_MAX else 0 for posts in whole)
    done = {post_id: b"%d" % like for post_id, like in likes.items() if post_id > threshold}
    for letter, posts in ((_BOOKMARK, rows.bookmarks), (_REPOST, rows.reposts)):
        for post_id in posts:
            if post_id > threshold:
                done[post_id] = done.get(post_id, b"") + letter
    for post_id, choices in votes.items():
        if post_id > threshold:
            done[post_id] = b"%b%b%d" % (done.get(post_id, b""), _VOTE, choices)
    return {_THRESHOLD: threshold, **done}


def _bits(value: bytes) -> int:
    value, _, choices = value.partition(_VOTE)
    bits = 0 if not value or value.startswith((_BOOKMARK, _REPOST)) else Mine.LIKED.value
    if choices:
        bits |= int(choices) << VOTE_SHIFT
    if _BOOKMARK in value:
        bits |= Mine.BOOKMARKED.value
    return bits | Mine.REPOSTED.value if _REPOST in value else bits


# --- likes of comments --------------------------------------------------------------------------
class LikedRow(NamedTuple):
    """A comment that a person likes, with its number of likes then, and the id of the like."""

    like_count: int
    comment_id: int
    like_id: int


def _liked(user_id: int, thread: int) -> str:
    return f"liked:{user_id}:{thread}"


def liked_changed(user_id: int, thread: int) -> None:
    """Invalidate a person's likes in a thread after the current transaction commits."""
    transaction.on_commit(partial(invalidate_liked, user_id, thread), robust=True)


def invalidate_liked(user_id: int, thread: int) -> None:
    """Invalidate a person's likes in a thread at once; call it after the commit. Never raises."""
    redis.invalidate([_liked(user_id, thread)])


def liked(user_id: int, thread: int) -> Hash:
    """Return the HASH of the comments of a thread that a person likes."""
    marks = (_THRESHOLD_LIKE, _THRESHOLD_ID)
    return Hash(_liked(user_id, thread), LIKED_TTL_MS, marks, _verdicts)


def _verdicts(comment_ids: Collection[int], reply: Reply) -> dict[int, bool] | None:
    """Return whether each comment is liked, for those that the HASH covers."""
    if None in reply[:2]:
        return None
    is_complete = int(reply[0]) == int(reply[1]) == 0
    found = zip(comment_ids, reply[2:], strict=True)
    return {one: like is not None for one, like in found if is_complete or like is not None}


def pack_liked(rows: Sequence[LikedRow]) -> Fields:
    """Return the fields of the HASH, from the first LIKED_MAX + 1 rows.

    The most liked comments come first, the newer of equals first.
    """
    kept = rows[:LIKED_MAX]
    last = (0, 0) if len(rows) == len(kept) else kept[-1][:2]
    marks = {_THRESHOLD_LIKE: last[0], _THRESHOLD_ID: last[1]}
    return {**marks, **{row.comment_id: row.like_id for row in kept}}
