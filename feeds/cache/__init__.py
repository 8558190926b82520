"""What feeds keep in Redis: lists of posts, post cards, readers, read marks. All of it can go.

Every fact is forgotten or brought in line after the commit that changes it, before the write is
answered, and once more by the event of the change, for a process that died in between. What Redis
could not be told is owed to it (`core.redis.forget`).
"""

from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter

from feeds.cache.timeline import ID_DIGITS, Entry, Run, Timeline, entry_of, member_of
from socialsite.core import redis
from socialsite.core.leased import LEASE_MS, Epoch, Lease, LeasedCache
from socialsite.core.pagination import Position

SECOND_MS = 1000
DAY_MS = 86_400 * SECOND_MS

# The pushed posts of a reader; the generation is `InboxState.generation`.
INBOX = Timeline("inbox2", 2 * DAY_MS)
# The posts of an author that are not deleted.
OUTBOX = Timeline("outbox2", 2 * DAY_MS)
# Posts whose fan-out is not done, of all authors: one list. Its members are id and author.
_OPEN = Timeline("fanouts2", 60 * SECOND_MS)
_ALL = 0
# What a reader's feed depends on besides posts (`feeds.readers`).
READER_TTL_MS = 60 * SECOND_MS
READERS = LeasedCache("reader", READER_TTL_MS)
# So long after a commit no cached reader is of before it: a fill may come as late as its lease.
READER_MAX_MS = READER_TTL_MS + LEASE_MS
# The parts of a post that are the same for every reader; b"" for one that is gone.
CARDS = LeasedCache("post", 600 * SECOND_MS)
# Renewed when an author publishes for the first time what is not pushed to all.
PULLED = Epoch("pulled")
MARK_TTL_MS = DAY_MS


# --- open fan-outs ------------------------------------------------------------------------------
OpenPost = tuple[Position, int]


class AskedOpen:
    """Open fan-outs asked for in a batch."""

    def __init__(self, batch: redis.Batch, cursor: Position | None) -> None:
        self._asked = _OPEN.ask(batch, [_ALL], cursor, 10**6)
        self._lease: Lease | None = None

    @cached_property
    def found(self) -> tuple[list[OpenPost], bool] | None:
        """Posts and their authors, and whether these are all; None when they are not cached."""
        run = self._asked.found.get(_ALL)
        return None if run is None else (_open_posts(run), run.ends)

    @property
    def most(self) -> int:
        """How many are read to cache them, newest first."""
        return _OPEN.most

    def prepare(self, batch: redis.Batch) -> None:
        """Add what `fill` needs to a batch, if they are not cached."""
        if self.found is None:
            self._lease = _OPEN.lease(batch, [_ALL])

    def fill(self, posts: list[OpenPost]) -> tuple[list[OpenPost], bool]:
        """Cache what was read of them, if it was leased; return it as `found` does."""
        entries = [_open_entry(place, author) for place, author in posts]
        return posts, _OPEN.fill(_ALL, self._lease, (0, entries)).ends


def _open_entry(place: Position, author_id: int) -> Entry:
    score, member = entry_of(place)
    return score, b"%b%d" % (member, author_id)


def _open_posts(run: Run) -> list[OpenPost]:
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
        _OPEN.add([_ALL], _open_entry(position, author_id))
    except redis.RedisDown:
        _OPEN.forget([_ALL])


def delivered(author_id: int, position: Position) -> None:
    """Tell that a fan-out is done: committed, and in every cached inbox. Never raises."""
    try:
        _OPEN.remove([_ALL], _open_entry(position, author_id)[1])
    except redis.RedisDown:
        _OPEN.forget([_ALL])


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
def ask_mark(batch: redis.Batch, viewer_id: int) -> redis.Promise[bytes | None]:
    """Add the read of what was last marked as shown to a batch."""
    return batch.get([_mark(viewer_id)], itemgetter(0))


def keep_mark(viewer_id: int, mark: bytes) -> None:
    """Remember what is marked as shown in the database, so that it need not be told again."""
    redis.send_later("SET", _mark(viewer_id), mark, "PX", MARK_TTL_MS)


def _mark(viewer_id: int) -> str:
    return f"mark:{viewer_id}"
