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
(the reader's edges, open fan-outs) is read before the inbox or by the same statement, what says
"the inbox lost it" (its floor) by the statement of its last rows or after, or with the generation
that the cached inbox has too. `feeds.sources` sees to that.
"""

from collections.abc import Iterator, Sequence

from feeds import cache, foresight, pull, readers
from feeds.cache.timeline import Run, entry_of
from feeds.cards import Card, Companion, Hydration
from feeds.merge import merge
from feeds.models import InboxState
from feeds.readers import Reader
from feeds.sources import SPARE, InboxRows, Sources
from feeds.visibility import visible_to
from socialsite.core import redis
from socialsite.core.pagination import Page, Position
from socialsite.core.prepared import Together
from socialsite.core.redis import Batch, Promise, RedisDown
from socialsite.core.refill import ROUND_MAX, ROUNDS_MAX, fill, walk

# A few more than wanted, for what the gate hides.
SLACK = 5
# With more authors to pull, the database is asked once instead of as many lists.
OUTBOXES_MAX = 64
# Lists of authors that one request puts in the cache.
LOADS_MAX = 8


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
        self._first: Sources | None = None
        self._rounds = 0
        self._reader: Reader | None = None
        self._hydration: Hydration | None = None
        self._mark: Promise[bytes | None] | None = None

    def ask(self, batch: Batch) -> None:
        """Add everything that can be asked at once; the reader before the inbox."""
        self._asked_reader = readers.AskedReader(batch, self.viewer_id)
        self._first = Sources(batch, self.viewer_id, self.cursor, self.size + 1 + SLACK)
        if self.cursor is None:
            self._mark = cache.ask_mark(batch, self.viewer_id)

    def page(self) -> Page[Card]:
        """Return the page, after the batch has run."""
        with redis.gathered():
            runs = walk(self.run, self.cursor, self.size + 1 + SLACK)
            # The hydration asks for the reader, who is not read before the sources are.
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
        self._rounds += 1
        asked = self._sources(cursor, want)
        unfinished = self._unfinished(asked)
        pushed, floor = self._pushed(asked)
        # With a full run of the inbox, nothing older than its end is among the wanted.
        reach = pushed[-1].ts_ms if len(pushed) >= want else 0
        authors = self._pulled_authors(asked, max(reach, 1), floor)
        pulled = list(self._pull(authors, asked.own, reach, cursor, want, [pushed, unfinished]))
        return merge([pushed, unfinished, *pulled], want)

    # --- sources --------------------------------------------------------------------------------
    def _sources(self, cursor: Position | None, want: int) -> Sources:
        """Return the sources, with the reader, as they are cached or else read at once."""
        asked, self._first = self._first, None
        if asked is None:
            batch = Batch()
            if self._asked_reader is None and self._reader is None:
                self._asked_reader = readers.AskedReader(batch, self.viewer_id)
            asked = Sources(batch, self.viewer_id, cursor, want)
            batch.run()
        batch, together = Batch(), Together()
        reader, asked_reader = self._reader, self._asked_reader
        if reader is None and asked_reader is not None:
            asked_reader.prepare(batch)
            reader = asked_reader.cached
        asked.prepare(batch)
        batch.run()
        if reader is None and asked_reader is not None:
            asked_reader.add_to(together)
        # The cache does not say whose posts these are, and most of the last ones were hidden.
        lacks_inbox = asked.inbox is None or self._rounds > 1
        is_below = reader is not None and cursor is not None and cursor.ts_ms <= reader.inbox_floor
        asked.load(together, with_inbox=lacks_inbox and not is_below)
        return asked

    def _unfinished(self, asked: Sources) -> list[Position]:
        """Return the open fan-outs of followed authors."""
        follows, cursor = self.reader.follows, asked.cursor
        if not asked.has_all_open:
            asked.load_open_of(follows)
        mine = [place for place, author in asked.open_posts if author in follows]
        return [place for place in mine if cursor is None or place < cursor]

    def _pushed(self, asked: Sources) -> tuple[list[Position], int]:
        """Return the run of the inbox, and at or below which ms it lacks posts."""
        reader, cursor, want = self.reader, asked.cursor, asked.want
        if cursor is not None and cursor.ts_ms <= reader.inbox_floor:
            return [], reader.inbox_floor  # down there everybody is pulled
        found: list[Position] = []
        run = asked.inbox if asked.rows is None else None
        if run is not None and run.generation == reader.generation:
            found = run.positions(most=want)
            if len(found) >= want or run.ends:
                return found, reader.inbox_floor
            cursor = found[-1] if found else cursor
        elif run is not None and run.generation < reader.generation:
            cache.INBOX.forget([self.viewer_id])
        rows, floor = self._inbox_rows(cursor, want - len(found), asked.rows)
        return found + rows, max(reader.inbox_floor, floor)

    def _inbox_rows(
        self, cursor: Position | None, want: int, first: InboxRows | None = None
    ) -> tuple[list[Position], int]:
        """Return rows of the inbox, and its floor by the same statement as the last of them.

        Rows of people who are not followed now are passed over (T41). `first` was read already.
        """
        kept: list[Position] = []
        limit, rows = want + SPARE, first
        while True:
            if rows is None:
                together = Together()
                rows = InboxRows(together, self.viewer_id, cursor, limit)
                together.run()
            kept += rows.followed(self.reader.follows, want - len(kept))
            cursor = rows.last
            if len(kept) == want or cursor is None:
                return kept, rows.state[1]
            limit, rows = min(limit * 2, ROUND_MAX), None

    def _pulled_authors(self, asked: Sources, reach: int, floor: int) -> set[int]:
        """Return followed authors who may have a post at or above `reach` that was not pushed."""
        follows = self.reader.follows
        if floor >= reach:
            return set(follows)
        authors = {author for author, below in self.reader.incomplete.items() if below >= reach}
        return authors | (follows & asked.pulled(reach))

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


def _load_outboxes(author_ids: Sequence[int]) -> dict[int, Run]:
    """Read lists of authors and cache them: of those on which the leases are had."""
    batch = Batch()
    lease = cache.OUTBOX.lease(batch, author_ids)
    batch.run()
    authors = cache.OUTBOX.held(lease, author_ids)
    found = pull.outboxes(authors, cache.OUTBOX.most) if authors else {}
    return {
        author: cache.OUTBOX.fill(author, lease, (0, [entry_of(place) for place in places]))
        for author, places in found.items()
    }


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
