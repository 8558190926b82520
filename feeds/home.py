"""Reading the home feed as push-pull: which sources there are, and how a page is made of them.

The feed of v is the posts of v and of everyone v follows now, newest first. A page is the merge of
sources that are each complete above the last item they give (spec I, exact pull rule):

1. the inbox;
2. posts not pushed to all;
3. posts whose fan-out is not done;
4. posts at or below what the inbox was backfilled or trimmed to;
5. the reader's own.

2, 4 and 5 are read as the newest posts of a set of authors. Reading more of an author than is
needed is harmless, since every post of a followed author belongs in the feed; so the set only has
to hold everyone who may have a post among the wanted ones that is not in the inbox.

Each source comes from Redis as far as it reaches there, and from the database below (T48). The
order of the reads makes them one consistent view without a snapshot: what says "the inbox has it"
(the reader's edges, open fan-outs) is read before the inbox, what says "the inbox lost it" (its
floor) by the statement of its last rows or after, or with the generation that the cached inbox has
too.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet, Value

from feeds import cache, foresight, pull, readers
from feeds.cache.timeline import Newest, Run, entry_of
from feeds.cards import Card, Companion, Hydration
from feeds.merge import merge
from feeds.models import AuthorHead, FanOut, InboxEntry, InboxState
from feeds.readers import Reader
from feeds.visibility import visible_to
from socialsite.core import db, redis
from socialsite.core.leased import Lease
from socialsite.core.pagination import Page, Position, before
from socialsite.core.prepared import ColumnOf, prepared
from socialsite.core.redis import Batch, Promise, RedisDown
from socialsite.core.refill import ROUND_MAX, ROUNDS_MAX, fill, newest, walk

# A few more than wanted, for what the gate hides.
SLACK = 5
# With more authors to pull, the database is asked once instead of as many lists.
OUTBOXES_MAX = 64
# Lists of authors that one request puts in the cache.
LOADS_MAX = 8
# With more authors who were ever not pushed to all, no process keeps them in mind.
PULLED_MAX = 20_000


class _Sources:
    """What a run asks of Redis in its first round trip."""

    def __init__(self, batch: Batch, viewer_id: int, cursor: Position | None, want: int) -> None:
        self.viewer_id, self.cursor, self.want = viewer_id, cursor, want
        self.open = cache.AskedOpen(batch, cursor)
        self._ask(batch)
        self.inbox_lease: Lease | None = None
        self._is_any_found = True

    def _ask(self, batch: Batch) -> None:
        """Add what must not be older than the open fan-outs."""
        self.pulled = cache.PULLED.ask(batch)
        self.inbox = cache.INBOX.ask(batch, [self.viewer_id], self.cursor, self.want)
        self.own = cache.OUTBOX.ask(batch, [self.viewer_id], self.cursor, self.want)

    def prepare(self, batch: Batch) -> None:
        """Add what is needed to cache what was not found; none of it is read before that."""
        try:
            is_epoch_lost = self.pulled.value is None
        except RedisDown:
            return
        self._is_any_found = not is_epoch_lost or bool(self.inbox.found or self.own.found)
        if is_epoch_lost:
            self.pulled = cache.PULLED.ask_start(batch)
        self.open.prepare(batch)
        # A reader far down would fill a list that does not reach it.
        if self.cursor is None and not self.inbox.found:
            self.inbox_lease = cache.INBOX.lease(batch, [self.viewer_id])

    def load_open(self) -> tuple[list[cache.OpenPost], bool]:
        """Read the open fan-outs from the database, and after them what was found once more."""
        found = self.open.load(_read_open)
        if self._is_any_found:
            batch = Batch()
            self._ask(batch)
            batch.run()
        return found


class Home:
    """One reading of one reader's feed: `ask`, run the batch, then `page`."""

    def __init__(
        self,
        viewer_id: int,
        cursor: Position | None,
        size: int,
        companion: Companion | None = None,
    ) -> None:
        self.viewer_id, self.cursor, self.size = viewer_id, cursor, size
        self._companion = companion
        self._asked_reader: readers.AskedReader | None = None
        self._first: _Sources | None = None
        self._rounds = 0
        self._reader: Reader | None = None
        self._hydration: Hydration | None = None
        self._mark: Promise[bytes | None] | None = None

    def ask(self, batch: Batch) -> None:
        """Add everything that can be asked at once; the reader before the inbox."""
        self._asked_reader = readers.AskedReader(batch, self.viewer_id)
        self._first = _Sources(batch, self.viewer_id, self.cursor, self.size + 1 + SLACK)
        if self.cursor is None:
            self._mark = cache.ask_mark(batch, self.viewer_id)

    def page(self) -> Page[Card]:
        """Return the page, after the batch has run."""
        with redis.gathered():
            runs = walk(self.run, self.cursor, self.size + 1 + SLACK)
            # The hydration asks for the reader, who is not read before `_prepare`.
            return fill(lambda ids, most: self.hydration.cards(ids, most), runs, self.size)

    @property
    def reader(self) -> Reader:
        """The reader, read once."""
        if self._reader is None:
            if self._asked_reader is None:
                self._reader = readers.one(self.viewer_id)
            else:
                self._reader = self._asked_reader.reader()
        return self._reader

    @property
    def known_mark(self) -> bytes | None:
        """What is known to be marked as shown, after the batch of a first page has run."""
        try:
            return None if self._mark is None else self._mark.value
        except RedisDown:
            return None

    @property
    def hydration(self) -> Hydration:
        """What makes cards of this page."""
        if self._hydration is None:
            self._hydration = Hydration(self.reader, self._companion, followed_only=True)
        return self._hydration

    def run(self, cursor: Position | None, want: int) -> list[Position]:
        """Return the first `want` positions after the cursor."""
        asked, self._first = self._first, None
        self._rounds += 1
        if asked is None:
            batch = Batch()
            asked = _Sources(batch, self.viewer_id, cursor, want)
            batch.run()
        self._prepare(asked)
        # In this order: see above.
        self.reader  # noqa: B018
        unfinished = self._unfinished(asked)
        pushed, floor = self._pushed(asked)
        # With a full run of the inbox, nothing older than its end is among the wanted.
        reach = pushed[-1].ts_ms if len(pushed) >= want else 0
        authors = self._pulled_authors(asked, max(reach, 1), floor)
        own = asked.own.found.get(self.viewer_id)
        pulled = list(self._pull(authors, own, reach, cursor, want, [pushed, unfinished]))
        return merge([pushed, unfinished, *pulled], want)

    def _prepare(self, asked: _Sources) -> None:
        """Ask for what caching takes of all that was not found, but for outboxes, at once."""
        batch = Batch()
        if self._reader is None and self._asked_reader is not None:
            self._asked_reader.prepare(batch)
        asked.prepare(batch)
        batch.run()

    # --- sources --------------------------------------------------------------------------------
    def _unfinished(self, asked: _Sources) -> list[Position]:
        """Return the open fan-outs of followed authors; other sources are read after them."""
        posts, are_all = asked.open.found or asked.load_open()
        follows, cursor = self.reader.follows, asked.cursor
        if are_all:
            mine = [place for place, author in posts if author in follows]
            return [place for place in mine if cursor is None or place < cursor]
        rows = FanOut.objects.filter(state__lt=FanOut.State.DONE, author_id__in=follows)
        return newest(rows, "post_id", cursor, asked.want)

    def _pushed(self, asked: _Sources) -> tuple[list[Position], int]:
        """Return the run of the inbox, and at or below which ms it lacks posts."""
        reader, cursor, want = self.reader, asked.cursor, asked.want
        if cursor is not None and cursor.ts_ms <= reader.inbox_floor:
            return [], reader.inbox_floor  # down there everybody is pulled
        run = asked.inbox.found.get(self.viewer_id)
        if self._rounds > 1:
            # The cache does not say whose posts these are, and most of the last ones were hidden.
            run = None
        elif run is None or run.generation < reader.generation:
            if run is not None:
                cache.INBOX.forget([self.viewer_id])
            run = self._load_inbox(cursor, asked.inbox_lease)
        if run is not None and run.generation == reader.generation:
            found = run.positions(most=want)
            if len(found) >= want or run.ends:
                return found, reader.inbox_floor
            cursor = found[-1] if found else cursor
        else:
            found = []
        rows, floor = self._inbox_rows(cursor, want - len(found))
        return found + rows, max(reader.inbox_floor, floor)

    def _load_inbox(self, cursor: Position | None, lease: Lease | None) -> Run | None:
        """Cache the inbox and return it; None for a reader far down, whom it would not reach."""
        if cursor is not None:
            return None
        return cache.INBOX.load(self.viewer_id, self._newest_entries, lease)

    def _newest_entries(self, limit: int) -> Newest:
        """Read the inbox, and of which generation it is by the same statement."""
        viewer = self.viewer_id
        states, rows = db.read_together(
            readers.states_of.statement(viewer, number=0),
            _numbered_rows.statement(viewer, number=1, limit=limit),
        )
        rows.sort(reverse=True)
        entries = [entry_of(Position(ts, post)) for ts, post, _ in rows]
        return readers.state(viewer, states)[0], entries

    def _inbox_rows(self, cursor: Position | None, want: int) -> tuple[list[Position], int]:
        """Read the inbox, and its floor by the same statement as the last rows.

        Rows of people who are not followed now are passed over (T41).
        """
        kept: list[Position] = []
        follows, floor = self.reader.follows, None
        limit = want + SLACK
        while True:
            if cursor is None:
                found = _newest_rows(self.viewer_id, limit=limit)
            else:
                found = _rows_after(self.viewer_id, *cursor, limit=limit)
            floor = found[-1][3] if found else None
            kept += [Position(ts, post) for ts, post, author, _ in found if author in follows]
            if len(kept) >= want or len(found) < limit:
                break
            cursor = Position(*found[-1][:2])
            limit = min(limit * 2, ROUND_MAX)
        if floor is None:
            floor = readers.state(self.viewer_id)[1]
        return kept[:want], floor

    def _pulled_authors(self, asked: _Sources, reach: int, floor: int) -> set[int]:
        """Return followed authors who may have a post at or above `reach` that was not pushed."""
        follows = self.reader.follows
        if floor >= reach:
            return set(follows)
        authors = {author for author, below in self.reader.incomplete.items() if below >= reach}
        ever = _ever_pulled.known(asked)
        if ever is not None:
            return authors | (follows & ever)
        covered = follows - authors
        heads = AuthorHead.objects.filter(author_id__in=covered, last_pulled_position__gte=reach)
        return authors | set(heads.values_list("author_id", flat=True))

    def _pull(
        self,
        authors: set[int],
        own: Run | None,
        reach: int,
        cursor: Position | None,
        want: int,
        other: Sequence[list[Position]],
    ) -> Iterator[list[Position]]:
        """Yield the newest posts of authors and of the reader, from their outboxes where cached.

        Those below `reach` (ms) may be missing.
        """
        if len(authors) > OUTBOXES_MAX:
            yield pull.newest(self.viewer_id, authors | {self.viewer_id}, cursor, want)
            return
        runs = {} if own is None else {self.viewer_id: own}
        if authors:
            batch = Batch()
            asked = cache.OUTBOX.ask(batch, sorted(authors), cursor, want)
            self._ask_ahead(batch, authors, own, reach, cursor, want, other)
            batch.run()
            runs |= asked.found
        below: list[int] = []
        everybody = {*authors, self.viewer_id}
        if cursor is None:
            runs |= _load_outboxes([one for one in everybody if one not in runs][:LOADS_MAX])
        for author in everybody:
            run = runs.get(author)
            if run is None:
                below.append(author)
                continue
            positions = run.positions(reach, want)
            if positions:
                self.hydration.expect([author])
                yield positions
            if cursor is None:
                foresight.published(author, run)
            if len(run.entries) < want and not run.reaches(reach):
                below.append(author)
        if below:
            yield pull.newest(self.viewer_id, below, cursor, want)

    def _ask_ahead(
        self,
        batch: Batch,
        authors: set[int],
        own: Run | None,
        reach: int,
        cursor: Position | None,
        want: int,
        other: Sequence[list[Position]],
    ) -> None:
        """Ask for the posts that are likely to be on the page, and for their authors."""
        guesses = [foresight.newest(author, reach, want) for author in authors]
        if cursor is not None:
            guesses = [[place for place in guess if place < cursor] for guess in guesses]
        known = [] if own is None else own.positions(reach, want)
        likely = merge([known, *other, *guesses], min(want, self.size + 1))
        ids = [place.id for place in likely]
        self.hydration.ask(batch, ids, foresight.writers(ids))


@prepared
def _numbered_rows(viewer_id: int, *, number: int, limit: int) -> "QuerySet[InboxEntry, Any]":
    rows = InboxEntry.objects.filter(user_id=viewer_id).order_by("-publish_time", "-post_id")
    return rows.values_list("publish_time", "post_id", Value(number))[:limit]


@prepared
def _newest_rows(viewer_id: int, *, limit: int) -> "QuerySet[InboxEntry, Any]":
    return _with_floor(InboxEntry.objects.filter(user_id=viewer_id), viewer_id)[:limit]


@prepared
def _rows_after(
    viewer_id: int, ts_ms: int, post_id: int, *, limit: int
) -> "QuerySet[InboxEntry, Any]":
    place = before(Position(ts_ms, post_id), "publish_time", "post_id")
    return _with_floor(InboxEntry.objects.filter(place, user_id=viewer_id), viewer_id)[:limit]


def _with_floor(rows: "QuerySet[InboxEntry]", viewer_id: int) -> "QuerySet[InboxEntry, Any]":
    floor = ColumnOf(InboxState.objects.filter(viewer_id=viewer_id).values("inbox_floor"))
    rows = rows.order_by("-publish_time", "-post_id")
    return rows.values_list("publish_time", "post_id", "author_id", floor)


@prepared
def _pulled_heads(*, limit: int) -> "QuerySet[AuthorHead, int]":
    heads = AuthorHead.objects.filter(last_pulled_position__gt=0)
    return heads.values_list("author_id", flat=True)[:limit]


@prepared
def _open_rows(*, limit: int) -> "QuerySet[FanOut, Any]":
    rows = FanOut.objects.filter(state__lt=FanOut.State.DONE).order_by("-position", "-post_id")
    return rows.values_list("position", "post_id", "author_id")[:limit]


def _read_open(limit: int) -> list[cache.OpenPost]:
    return [(Position(ts, post), author) for ts, post, author in _open_rows(limit=limit)]


def _load_outboxes(author_ids: Sequence[int]) -> dict[int, Run]:
    if not author_ids:
        return {}

    def posts(limit: int) -> dict[int, Newest]:
        found = pull.outboxes(author_ids, limit)
        return {
            author: (0, [entry_of(place) for place in places]) for author, places in found.items()
        }

    return cache.OUTBOX.load_all(author_ids, posts)


class _EverPulled:
    """The authors who ever published what is not pushed to all: few, kept by each process.

    A copy counts only while the epoch it was read under is the present one.
    """

    def __init__(self) -> None:
        self._copy: tuple[bytes, frozenset[int] | None] | None = None

    def known(self, asked: _Sources) -> frozenset[int] | None:
        """Return the authors; None where the database has to be asked, also for being too many."""
        try:
            epoch = asked.pulled.value
        except RedisDown:
            return None
        if epoch is None:
            return None
        copy = self._copy
        if copy is None or copy[0] != epoch:
            found = frozenset(_pulled_heads(limit=PULLED_MAX + 1))
            copy = self._copy = (epoch, found if len(found) <= PULLED_MAX else None)
        return copy[1]


_ever_pulled = _EverPulled()


def start(
    viewer_id: int, cursor: Position | None, size: int, companion: Companion | None = None
) -> Home:
    """Return a reading of which everything that can be asked at once was asked."""
    home = Home(viewer_id, cursor, size, companion)
    batch = Batch()
    home.ask(batch)
    batch.run()
    return home


def count_new(viewer_id: int, limit: int) -> int:
    """Return how many visible posts of others were not shown yet, at most `limit`.

    Those above the read mark, and those that came in late among what a first page showed (T50).
    """
    state = InboxState.objects.filter(viewer_id=viewer_id).first() or InboxState()
    mark, shown = Position(state.read_ts, state.read_id), set(state.shown)
    count = 0
    home = Home(viewer_id, None, limit)
    visible = visible_to(viewer_id).values_list("author_id", flat=True)
    runs = walk(home.run, None, limit)
    for number, run in enumerate(runs, start=1):
        new = [
            place.id
            for place in run
            if place > mark or (place.ts_ms > state.shown_from and place.id not in shown)
        ]
        count += sum(author in home.reader.follows for author in visible.filter(pk__in=new))
        past = run[-1] < mark and run[-1].ts_ms <= state.shown_from
        if count >= limit or past or number == ROUNDS_MAX:
            break
    return min(count, limit)
