"""Caches of feeds in Redis: lists of posts, post cards, readers, read marks. All may be lost.

Reads of the database belong to `feeds.queries` and `feeds.home`.

Every fact is forgotten or brought in line after the commit that changes it, before the write is
answered, and once more by the event of the change, for a process that died in between. What Redis
could not be told is owed to it (`core.redis.forget`).
"""

from collections.abc import Sequence
from operator import itemgetter

from accounts import queries as accounts_queries
from feeds.cache.timeline import ID_DIGITS, Entry, Run, Timeline, entry_of, member_of
from socialsite.core import redis
from socialsite.core.cache.lease import LEASE_MS, Epoch, LeaseCache, TaggedCache
from socialsite.core.cache.reads import Read
from socialsite.core.http.pagination import Position

SECOND_MS = 1000
DAY_MS = 86_400 * SECOND_MS

# The pushed posts of a reader; the generation is `InboxState.generation`.
INBOX = Timeline("inbox2", 2 * DAY_MS)
# The posts of an author that are not deleted.
OUTBOX = Timeline("outbox2", 2 * DAY_MS)
# Posts whose fan-out is not done, of all authors: one list. Its members are id and author.
OPEN = Timeline("fanouts2", 60 * SECOND_MS)
ALL = 0
# What a reader's feed depends on besides posts (`feeds.home.viewer`).
READER_TTL_MS = 60 * SECOND_MS
READERS = TaggedCache("reader", READER_TTL_MS, accounts_queries.STANDING)
# So long after a commit no cached reader is of before it: a fill may come as late as its lease.
READER_MAX_MS = READER_TTL_MS + LEASE_MS
# The parts of a post that are the same for every reader; b"" for one that is gone.
CARDS = LeaseCache("post", 600 * SECOND_MS)
# Renewed when an author publishes for the first time what is not pushed to all.
PULLED = Epoch("pulled")
MARK_TTL_MS = DAY_MS


# --- open fan-outs ------------------------------------------------------------------------------
OpenPost = tuple[Position, int]


def open_entry(place: Position, author_id: int) -> Entry:
    """Return what an open fan-out is kept as."""
    score, member = entry_of(place)
    return score, b"%b%d" % (member, author_id)


def open_posts(run: Run) -> list[OpenPost]:
    """Return the posts and authors of a run of open fan-outs."""
    authors = [int(member[ID_DIGITS:]) for _, member in run.entries]
    return list(zip(run.positions(), authors, strict=True))


# --- what writers tell --------------------------------------------------------------------------
def published(author_id: int, position: Position, *, pushed: bool, first_pulled: bool) -> None:
    """Tell of a post that is committed. Never raises."""
    CARDS.forget([position.id])
    if first_pulled:
        PULLED.renew()
    try:
        OUTBOX.add([author_id], entry_of(position))
    except redis.RedisDown:
        OUTBOX.forget([author_id])
    if not pushed:
        return
    try:
        OPEN.add([ALL], open_entry(position, author_id))
    except redis.RedisDown:
        OPEN.forget([ALL])


def delivered(author_id: int, position: Position) -> None:
    """Tell that a fan-out is done: committed, and in every cached inbox. Never raises."""
    try:
        OPEN.remove([ALL], open_entry(position, author_id)[1])
    except redis.RedisDown:
        OPEN.forget([ALL])


def deliver(viewer_ids: Sequence[int], position: Position) -> int:
    """Add a post to the cached ones of these inboxes; its rows are committed. Raises RedisDown."""
    return INBOX.add(viewer_ids, entry_of(position))


def deleted(author_id: int, position: Position) -> None:
    """Tell that a post is deleted. Never raises."""
    CARDS.forget([position.id])
    try:
        OUTBOX.remove([author_id], member_of(position.id))
    except redis.RedisDown:
        OUTBOX.forget([author_id])


def clean(viewer_ids: Sequence[int], position: Position) -> None:
    """Take a deleted post out of cached inboxes. Never raises: readers do not show it anyway."""
    try:
        INBOX.remove(viewer_ids, member_of(position.id))
    except redis.RedisDown:
        return


def changed_reader(*viewer_ids: int) -> None:
    """Tell that follows, blocks, or what the inbox is complete for have changed. Never raises."""
    READERS.forget(viewer_ids)


def changed_inbox(viewer_id: int) -> None:
    """Tell that an inbox has a new generation: what is cached of it is of no use. Never raises."""
    redis.forget([READERS.key(viewer_id), INBOX.key(viewer_id)])


# --- read marks ---------------------------------------------------------------------------------
class Mark(Read[bytes | None]):
    """What was last marked as shown, as far as Redis knows and was asked."""

    _asked: redis.Promise[bytes | None] = redis.Promise()

    def __init__(self, viewer_id: int) -> None:
        self._key = _mark(viewer_id)

    def ask(self, batch: redis.Batch) -> None:
        self._asked = batch.get([self._key], itemgetter(0))

    @property
    def value(self) -> bytes | None:
        """The mark; None for none."""
        return self._asked.known


def keep_mark(viewer_id: int, mark: bytes) -> None:
    """Remember what is marked as shown in the database, so that it need not be told again."""
    redis.send_later("SET", _mark(viewer_id), mark, "PX", MARK_TTL_MS)


def _mark(viewer_id: int) -> str:
    return f"mark:{viewer_id}"
