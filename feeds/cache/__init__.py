"""Caches of feeds in Redis: lists of posts, post cards, readers, read marks. All may be lost.

Reads of the database belong to `feeds.queries` and `feeds.home`.

A writer invalidates or updates the cached values after its commit, before it responds; the event of
the change repeats this, in case the process died in between. While Redis is down, deletions wait in
the backlog of `core.redis`.
"""

from collections.abc import Sequence
from operator import itemgetter

from accounts import queries as accounts_queries
from feeds.cache.timeline import ID_DIGITS, Entry, Run, Timeline, entry_of, member_of
from socialsite.core import redis
from socialsite.core.cache.lease import LEASE_MS, Epoch, LeaseCache, TaggedCache
from socialsite.core.cache.reads import Read
from socialsite.core.positions import Position

SECOND_MS = 1000
DAY_MS = 86_400 * SECOND_MS

# The pushed posts of a reader; the generation is `InboxState.generation`.
INBOX = Timeline("inbox2", 2 * DAY_MS)
# The posts of an author that are not deleted.
OUTBOX = Timeline("outbox2", 2 * DAY_MS)
# Posts whose fan-out is not done, of all authors: one list. Its members are id and author.
OPEN = Timeline("fanouts2", 60 * SECOND_MS)
ALL = 0
# The reader's follows, blocks and inbox state (`feeds.readers`).
READER_TTL_MS = 60 * SECOND_MS
READERS = TaggedCache("reader", READER_TTL_MS, accounts_queries.STANDING)
# This long after a commit, no cached reader predates it: a fill may come as late as its lease.
READER_MAX_MS = READER_TTL_MS + LEASE_MS
# The parts of a post that are the same for every reader; b"" for a deleted post.
CARDS = LeaseCache("post", 600 * SECOND_MS, format=10)
# Renewed when an author publishes the first post of a week that is not pushed to all.
PULLED = Epoch("pulled")
MARK_TTL_MS = DAY_MS


# --- open fan-outs ------------------------------------------------------------------------------
OpenPost = tuple[Position, int]


def open_entry(place: Position, author_id: int) -> Entry:
    """Return the list entry of an open fan-out."""
    score, member = entry_of(place)
    return score, b"%b%d" % (member, author_id)


def open_posts(run: Run) -> list[OpenPost]:
    """Return the posts and authors of a run of open fan-outs."""
    authors = [int(member[ID_DIGITS:]) for _, member in run.entries]
    return list(zip(run.positions(), authors, strict=True))


# --- updates after writes -----------------------------------------------------------------------
def published(author_id: int, position: Position, *, pushed: bool) -> None:
    """Update the caches after the commit of a post. Never raises."""
    CARDS.invalidate([position.id])
    try:
        OUTBOX.add([author_id], entry_of(position))
    except redis.RedisDown:
        OUTBOX.invalidate([author_id])
    if not pushed:
        return
    try:
        OPEN.add([ALL], open_entry(position, author_id))
    except redis.RedisDown:
        OPEN.invalidate([ALL])


def delivered(author_id: int, position: Position) -> None:
    """Remove a fan-out that is committed and in every cached inbox. Never raises."""
    try:
        OPEN.remove([ALL], open_entry(position, author_id)[1])
    except redis.RedisDown:
        OPEN.invalidate([ALL])


def deliver(viewer_ids: Sequence[int], position: Position) -> int:
    """Add a post to those inboxes that are cached; its rows are committed. Raises RedisDown."""
    return INBOX.add(viewer_ids, entry_of(position))


def deleted(author_id: int, position: Position) -> None:
    """Update the caches after the deletion of a post. Never raises."""
    CARDS.invalidate([position.id])
    try:
        OUTBOX.remove([author_id], member_of(position.id))
    except redis.RedisDown:
        OUTBOX.invalidate([author_id])


def edited(post_id: int) -> None:
    """Update the caches after the commit of an edit: the place of the post stays. Never raises."""
    CARDS.invalidate([post_id])


def clean(viewer_ids: Sequence[int], position: Position) -> None:
    """Remove a deleted post from cached inboxes. Never raises: readers do not show it anyway."""
    try:
        INBOX.remove(viewer_ids, member_of(position.id))
    except redis.RedisDown:
        return


def changed_reader(*viewer_ids: int) -> None:
    """Invalidate readers whose follows, blocks or inbox state changed. Never raises."""
    READERS.invalidate(viewer_ids)


def changed_inbox(viewer_id: int) -> None:
    """Invalidate a cached inbox that has a new generation. Never raises."""
    redis.invalidate([READERS.key(viewer_id), INBOX.key(viewer_id)])


# --- read marks ---------------------------------------------------------------------------------
class ReadMark(Read[bytes | None]):
    """The read mark that was stored last, if Redis has it."""

    _asked: redis.Promise[bytes | None] = redis.Promise()

    def __init__(self, viewer_id: int) -> None:
        self._key = _mark_key(viewer_id)

    def ask(self, batch: redis.Batch) -> None:
        self._asked = batch.get([self._key], itemgetter(0))

    @property
    def value(self) -> bytes | None:
        """The mark, or None."""
        return self._asked.known


def store_mark(viewer_id: int, mark: bytes) -> None:
    """Cache the read mark of the database, so that equal marks are not written again."""
    redis.send_later("SET", _mark_key(viewer_id), mark, "PX", MARK_TTL_MS)


def _mark_key(viewer_id: int) -> str:
    return f"mark:{viewer_id}"
