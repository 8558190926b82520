"""The sources of a page of the home feed, each of them a read (`core.cache.reads`).

The reader and the open fan-outs decide which posts the inbox must contain, so they must not be
newer than the inbox (docs/decisions/0001); `after` states this. The generation shows whether a
cached inbox is older than a reader from the database (docs/decisions/0005).
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any, ClassVar

from django.db.models import QuerySet

from feeds import cache, readers, tiers
from feeds.cache.timeline import Entry, Runs, entry_of, member_of
from feeds.home import pull
from feeds.models import AuthorHead, FanOut, InboxEntry
from feeds.readers import Reader, ReaderRead
from relations import queries as relations_queries
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Read
from socialsite.core.db.compiled import UnionRead, compiled
from socialsite.core.db.page_filling import ROUND_MAX
from socialsite.core.positions import NEWEST, Position, before
from socialsite.core.redis import Batch

# Additional rows of an inbox to read, as some may be by people who are no longer followed.
SPARE = 5
# With more such authors, a process does not cache them.
PULLED_MAX = 20_000
# Outboxes that one request puts in the cache.
LOADS_MAX = 8


class Sources:
    """The sources of one run of a reader's feed."""

    def __init__(
        self, reader: ReaderRead, cursor: Position | None, want: int, *, anew: bool = False
    ) -> None:
        self.reader, self.cursor, self.want = reader, cursor, want
        self.opened = OpenFanOuts(cursor)
        self.pulled = Pulled(reader.id, self.opened)
        self.inbox = Inbox(reader, self.opened, cursor, want, anew=anew)
        self.outboxes = Outboxes(cursor, want)
        self.outboxes.expect([reader.id])
        self.first = (reader, self.opened, self.pulled, self.inbox, self.outboxes)

    def run(self) -> None:
        """Read everything except the outboxes of other authors."""
        reads.run(*self.first)
        if not self.opened.are_all:
            self.opened.narrow(self.reader.value.follows, self.want)
            reads.run(self.opened, self.inbox)

    def unfinished(self) -> list[Position]:
        """Return the posts of followed authors whose fan-out is not done."""
        follows, cursor = self.reader.value.follows, self.cursor
        mine = [place for place, author in self.opened.posts if author in follows]
        return mine if cursor is None else [place for place in mine if place < cursor]

    def pulled_authors(self, reach: int, floor: int) -> set[int]:
        """Return followed authors who may have a post at or above `reach` that was not pushed."""
        reader = self.reader.value
        if floor >= reach:
            return set(reader.follows)
        authors = {author for author, below in reader.incomplete.items() if below >= reach}
        return authors | self.pulled.among(reader.follows, reach)


class OpenFanOuts(Runs):
    """The newest open fan-outs, of all authors: `posts`, and whether they `are_all`.

    If they are not all, call `narrow` to read those of some authors.
    """

    # Posts and their authors; those from the database may be above the cursor.
    posts: Sequence[cache.OpenPost] = ()
    are_all = False
    # The authors to read, and the number of posts.
    _narrowed: tuple[Collection[int], int] | None = None
    _rows: Sequence[Any] = ()

    def __init__(self, cursor: Position | None) -> None:
        super().__init__(cache.OPEN, cursor, 10**6, [cache.ALL])

    def take(self) -> None:
        super().take()
        if (run := self.known.get(cache.ALL)) is not None:
            self.posts, self.are_all = cache.open_posts(run), run.ends

    def narrow(self, authors: Collection[int], most: int) -> None:
        """Read the first of some authors after the cursor in the next run."""
        self._narrowed = authors, most

    @property
    def is_cached(self) -> bool:
        return not self.missing and self._narrowed is None

    def query(self, union: UnionRead) -> None:
        if self._narrowed is None:
            self._rows = union.add(_open_rows, limit=cache.OPEN.most)
            return
        authors, most = self._narrowed
        place = self.cursor or NEWEST
        self._rows = union.add(_open_of, authors, *place, limit=most) if authors else ()

    def fill(self) -> None:
        rows = sorted(self._rows, reverse=True)
        self.posts = [(Position(ts, post), author) for ts, post, author in rows]
        if self._narrowed is None:
            entries = [cache.open_entry(place, author) for place, author in self.posts]
            self.are_all = cache.OPEN.fill(cache.ALL, self._lease, (0, entries)).ends


class Pulled(Read[Any]):
    """Authors who ever published a post that is not pushed to all: few, cached by each process.

    The cached set is valid only while its epoch is the current one.
    """

    # The epoch, and the authors with the latest time (ms) of such posts; None for too many.
    _cached: ClassVar[tuple[bytes | None, Mapping[int, int] | None]] = None, None

    # Whether this process has cached the set of the current epoch.
    _is_current = False
    _known: Mapping[int, int] | None = None
    # From the database.
    _of_follows: Sequence[Any] = ()
    _everybody: list[Any] | None = None

    def __init__(self, viewer_id: int, opened: Read[Any]) -> None:
        self._viewer_id, self.after = viewer_id, (opened,)

    def ask(self, batch: Batch) -> None:
        self._epoch = cache.PULLED.ask(batch)

    def take(self) -> None:
        epoch, authors = Pulled._cached  # read once: another thread may replace it
        if epoch is not None and epoch == self._epoch.known:
            self._is_current, self._known = True, authors

    @property
    def is_cached(self) -> bool:
        return self._known is not None

    def lease(self, batch: Batch) -> None:
        if self._epoch.known is None and not batch.in_transaction:
            self._epoch = cache.PULLED.ask_start(batch)

    def query(self, union: UnionRead) -> None:
        """Query those among the follows, and all of them to cache the set."""
        self._known = None
        self._of_follows = union.add(_pulled_follows, self._viewer_id)
        if self._epoch.known is not None and not self._is_current:
            self._everybody = union.add(_pulled, limit=PULLED_MAX + 1)

    def fill(self) -> None:
        if self._everybody is not None:
            found = {author: tiers.pulled_until(last) for author, last in self._everybody}
            Pulled._cached = self._epoch.known, found if len(found) <= PULLED_MAX else None

    def among(self, follows: AbstractSet[int], reach: int) -> set[int]:
        """Return those who may have a post at or above `reach` (ms) that is not pushed to all."""
        if (known := self._known) is not None:
            return {author for author in known.keys() & follows if known[author] >= reach}
        return {author for author, last in self._of_follows if author in follows and last >= reach}


class Inbox(Runs):
    """The pushed posts of a reader.

    `anew` bypasses the cache, which does not contain the authors of the posts.
    """

    _rows: "InboxRows | None" = None

    def __init__(
        self,
        reader: ReaderRead,
        opened: OpenFanOuts,
        cursor: Position | None,
        want: int,
        *,
        anew: bool,
    ) -> None:
        super().__init__(cache.INBOX, cursor, want, [reader.id])
        self._reader, self._opened, self._anew = reader, opened, anew
        self.after = (opened,)

    @property
    def _is_below(self) -> bool:
        """True when the reader is known and all posts of the page are pulled."""
        reader, cursor = self._reader.known, self.cursor
        return reader is not None and cursor is not None and cursor.ts_ms <= reader.inbox_floor

    @property
    def is_cached(self) -> bool:
        return self._is_below or not (self.missing or self._anew)

    def lease(self, batch: Batch) -> None:
        """Request the lease on a first page only: the list would not reach a later one."""
        if self.cursor is None:
            super().lease(batch)

    def query(self, union: UnionRead) -> None:
        """Add the query, unless the open fan-outs need a later statement."""
        opened = self._opened
        if self._is_below or (opened.is_cached and not opened.are_all):
            return
        to_fill = cache.INBOX.leased(self._lease, self.missing)
        limit = cache.INBOX.most if to_fill else self.want + SPARE
        self._rows = InboxRows(union, self._reader.id, self.cursor, limit)

    def fill(self) -> None:
        """Cache the rows with the generation of the same statement."""
        rows = self._rows
        if rows is not None and cache.INBOX.leased(self._lease, self.missing):
            cache.INBOX.fill(self._reader.id, self._lease, (rows.state[0], rows.entries))
            self.missing.clear()

    def followed(self) -> tuple[list[Position], int]:
        """Return posts of followed people, and the ms at or below which posts may be missing."""
        reader, cursor = self._reader.value, self.cursor
        if self._is_below:
            return [], reader.inbox_floor
        found: list[Position] = []
        run = self.known.get(self._reader.id) if self._rows is None else None
        if run is not None and run.generation == reader.generation:
            found = run.positions(most=self.want)
            if len(found) >= self.want or run.ends:
                return found, reader.inbox_floor
            cursor = found[-1] if found else cursor
        elif run is not None and run.generation < reader.generation:
            cache.INBOX.invalidate([self._reader.id])
        rows, floor = rows_below(reader, cursor, self.want - len(found), self._rows)
        return found + rows, max(reader.inbox_floor, floor)


def rows_below(
    reader: Reader, cursor: Position | None, want: int, first: "InboxRows | None" = None
) -> tuple[list[Position], int]:
    """Return rows of the inbox, and its floor from the same statement as the last row.

    Rows of people who are no longer followed are skipped (T41). `first` was read before.
    """
    kept: list[Position] = []
    limit, rows = want + SPARE, first
    while True:
        if rows is None:
            union = UnionRead()
            rows = InboxRows(union, reader.id or 0, cursor, limit)
            union.run()
        kept += rows.followed(reader.follows, want - len(kept))
        cursor = rows.last
        if len(kept) == want or cursor is None:
            return kept, rows.state[1]
        limit, rows = min(limit * 2, ROUND_MAX), None


class InboxRows:
    """The next rows of an inbox and its state, read by one statement."""

    def __init__(
        self, union: UnionRead, viewer_id: int, cursor: Position | None, limit: int
    ) -> None:
        self._viewer_id, self._limit = viewer_id, limit
        self._found = union.add(_rows_after, viewer_id, *(cursor or NEWEST), limit=limit)
        self._states = union.add(readers.states_of, viewer_id)

    def followed(self, follows: Collection[int], most: int) -> list[Position]:
        """Return the first `most` posts by followed people."""
        kept: list[Position] = []
        for ts_ms, post_id, author_id in self._newest_first:
            if author_id in follows:
                kept.append(Position(ts_ms, post_id))
                if len(kept) == most:
                    break
        return kept

    @property
    def last(self) -> Position | None:
        """The last row, if there may be more rows after it."""
        return Position(*self._newest_first[-1][:2]) if len(self._found) == self._limit else None

    @property
    def entries(self) -> list[Entry]:
        """The rows as entries of a cached inbox."""
        return [(-ts_ms, member_of(post_id)) for ts_ms, post_id, _ in self._newest_first]

    @cached_property
    def _newest_first(self) -> list[tuple[int, int, int]]:
        return sorted(self._found, reverse=True)

    @cached_property
    def state(self) -> tuple[int, int]:
        """Generation and floor (ms)."""
        return readers.inbox_state(self._viewer_id, self._states)


class Outboxes(Runs):
    """The posts of some authors, by author. A first page caches up to LOADS_MAX missing lists."""

    _places: Mapping[int, list[Position]] = {}

    def __init__(self, cursor: Position | None, want: int) -> None:
        super().__init__(cache.OUTBOX, cursor, want)

    @property
    def is_cached(self) -> bool:
        """True when no list must be cached; a later page could not fill a whole list."""
        return self.cursor is not None or not self.missing

    def lease(self, batch: Batch) -> None:
        self.missing = {*[*self.missing][:LOADS_MAX]}
        super().lease(batch)

    def query(self, union: UnionRead) -> None:
        """Read the lists whose leases were acquired."""
        authors = cache.OUTBOX.leased(self._lease, self.missing)
        self._places = pull.outboxes(authors, cache.OUTBOX.most) if authors else {}

    def fill(self) -> None:
        for author, places in self._places.items():
            newest = 0, [entry_of(place) for place in places]
            self.known[author] = cache.OUTBOX.fill(author, self._lease, newest)


# --- statements ---------------------------------------------------------------------------------
@compiled
def _rows_after(
    viewer_id: int, ts_ms: int, post_id: int, *, limit: int
) -> "QuerySet[InboxEntry, Any]":
    place = before(Position(ts_ms, post_id), "publish_time", "post_id")
    rows = InboxEntry.objects.filter(place, user_id=viewer_id)
    rows = rows.order_by("-publish_time", "-post_id")
    return rows.values_list("publish_time", "post_id", "author_id")[:limit]


@compiled
def _open_rows(*, limit: int) -> "QuerySet[FanOut, Any]":
    return _open(FanOut.objects.all(), limit)


@compiled
def _open_of(
    author_ids: Collection[int], ts_ms: int, post_id: int, *, limit: int
) -> "QuerySet[FanOut, Any]":
    place = before(Position(ts_ms, post_id), "position", "post_id")
    return _open(FanOut.objects.filter(place, author_id__in=author_ids), limit)


def _open(rows: "QuerySet[FanOut]", limit: int) -> "QuerySet[FanOut, Any]":
    rows = rows.filter(state__lt=FanOut.State.DONE).order_by("-position", "-post_id")
    return rows.values_list("position", "post_id", "author_id")[:limit]


@compiled
def _pulled(*, limit: int) -> "QuerySet[AuthorHead, Any]":
    heads = AuthorHead.objects.filter(last_pulled_position__gt=0)
    return heads.values_list("author_id", "last_pulled_position")[:limit]


@compiled
def _pulled_follows(viewer_id: int) -> "QuerySet[AuthorHead, Any]":
    heads = AuthorHead.objects.filter(last_pulled_position__gt=0)
    heads = heads.filter(author_id__in=relations_queries.following_ids(viewer_id))
    return heads.values_list("author_id", "last_pulled_position")
