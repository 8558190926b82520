"""Reads the home feed as push-pull: the sources of a page, and their merge.

The feed of v is the posts of v and of everyone v follows now, newest first. A page is the merge of
sources, each of which is complete above its last item (spec I, exact pull rule):

1. the inbox;
2. posts not pushed to all;
3. posts whose fan-out is not done;
4. posts at or below the limit of a backfill or of a trim of the inbox;
5. the reader's own posts.

2, 4 and 5 are read as the newest posts of a set of authors. Reading too many authors is harmless,
since every post of a followed author belongs in the feed. So the set must only include every author
who may have a wanted post that is not in the inbox.

Each source is read from Redis as far as its cached list reaches, and from the database below that
(T48). `feeds.home.sources` has these reads.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from feeds import cache
from feeds.cards import prefetch
from feeds.cards.card import Card
from feeds.cards.hydration import Companion, Hydration
from feeds.home import pull
from feeds.home.merge import merge
from feeds.home.sources import Sources
from feeds.models import InboxState
from feeds.readers import Reader, ReaderRead
from feeds.visibility import visible_to
from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Read
from socialsite.core.db.page_filling import ROUNDS_MAX, fill, walk
from socialsite.core.positions import Page, Position

# Additional positions, as the visibility check may hide some.
SLACK = 5
# With more authors to pull, one query replaces reading that many lists.
OUTBOXES_MAX = 64


class HomeReading:
    """One read of a reader's feed: `page`; its `first` reads may be asked earlier."""

    def __init__(
        self,
        viewer_id: int,
        cursor: Position | None,
        size: int,
        companion: Companion | None = None,
    ) -> None:
        self.viewer_id, self.cursor, self.size = viewer_id, cursor, size
        self._companion = companion
        self._reader, self._mark = ReaderRead(viewer_id), cache.ReadMark(viewer_id)
        self._first: Sources | None = None
        self._is_further = False

    def first(self) -> list[Read[Any]]:
        """Return all reads that can be asked at once."""
        self._first = Sources(self._reader, self.cursor, self.size + 1 + SLACK)
        marks = [self._mark] if self.cursor is None else []
        return [*self._first.first, *marks]

    def page(self) -> Page[Card]:
        """Return the page."""
        with redis.gathered():
            runs = walk(self.run, self.cursor, self.size + 1 + SLACK)
            # The hydration needs the reader, who is known only after the sources were read.
            return fill(lambda ids, most: self.hydration.cards(ids, most), runs, self.size)

    @property
    def reader(self) -> Reader:
        """The reader, read once."""
        if self._reader.known is None:
            reads.run(self._reader)
        return self._reader.value

    @property
    def known_mark(self) -> bytes | None:
        """The cached read mark, if the reads of a first page were asked; else None."""
        return self._mark.value

    @cached_property
    def hydration(self) -> Hydration:
        """The hydration of this page."""
        return Hydration(self.reader, self._companion, followed_only=True)

    def run(self, cursor: Position | None, want: int) -> list[Position]:
        """Return the first `want` positions after the cursor: the merge of all sources."""
        sources = self._sources(cursor, want)
        pushed, floor = sources.inbox.followed()
        unfinished = sources.unfinished()
        # If the inbox gave all `want` posts, nothing older than its last one is needed.
        reach = pushed[-1].ts_ms if len(pushed) >= want else 0
        authors = sources.pulled_authors(max(reach, 1), floor)
        pulled = self._pull(sources, authors, reach, [pushed, unfinished])
        return merge([pushed, unfinished, *pulled], want)

    def _sources(self, cursor: Position | None, want: int) -> Sources:
        """Return the sources of the next round, read except for the outboxes of others."""
        first, self._first = self._first, None
        # The posts of the previous round were mostly hidden: read the inbox from the table.
        sources = first or Sources(self._reader, cursor, want, anew=self._is_further)
        self._is_further = True
        sources.run()
        return sources

    def _pull(
        self, sources: Sources, authors: set[int], reach: int, other: Sequence[list[Position]]
    ) -> Iterator[list[Position]]:
        """Yield the newest posts of authors and of the reader, from cached outboxes if possible.

        Posts below `reach` (ms) may be missing.
        """
        cursor, want, everybody = sources.cursor, sources.want, authors | {self.viewer_id}
        if len(authors) > OUTBOXES_MAX:
            yield pull.newest(self.viewer_id, everybody, cursor, want)
            return
        sources.outboxes.need(everybody)
        reads.run(sources.outboxes, ahead=self._likely(sources, authors, reach, other))
        runs = sources.outboxes.known
        below = [author for author in everybody if author not in runs]
        likely = []
        for author, run in runs.items():
            positions = run.positions(reach, want)
            if positions:
                likely.append(author)
                yield positions
            if cursor is None:
                prefetch.record_newest(author, run)
            if len(run.entries) < want and not run.reaches(reach):
                below.append(author)
        self.hydration.expect_by(likely)
        if below:
            yield pull.newest(self.viewer_id, below, cursor, want)

    def _likely(
        self, sources: Sources, authors: set[int], reach: int, other: Sequence[list[Position]]
    ) -> list[Read[Any]]:
        """Return reads of the posts that are probably on the page, and of their authors."""
        if not authors:
            return []
        cursor, want = sources.cursor, sources.want
        guesses = [prefetch.newest(author, reach, want) for author in authors]
        if cursor is not None:
            guesses = [[place for place in guess if place < cursor] for guess in guesses]
        own = sources.outboxes.known.get(self.viewer_id)
        known = [] if own is None else own.positions(reach, want)
        likely = merge([known, *other, *guesses], min(want, self.size + 1))
        return self.hydration.expect([place.id for place in likely])


def count_new(viewer_id: int, limit: int) -> int:
    """Return the number of visible posts of others that were not shown yet, at most `limit`.

    These are posts above the read mark, and posts that came in late between shown ones (T50).
    """
    state = InboxState.objects.filter(viewer_id=viewer_id).first() or InboxState()
    mark, shown = Position(state.read_ts, state.read_id), set(state.shown)
    count = 0
    reading = HomeReading(viewer_id, None, limit)
    visible = visible_to(viewer_id).values_list("author_id", flat=True)
    runs = walk(reading.run, None, limit)
    for number, run in enumerate(runs, start=1):
        new = [
            place.id
            for place in run
            if place > mark or (place.ts_ms > state.shown_from and place.id not in shown)
        ]
        count += sum(author in reading.reader.follows for author in visible.filter(pk__in=new))
        past = run[-1] < mark and run[-1].ts_ms <= state.shown_from
        if count >= limit or past or number == ROUNDS_MAX:
            break
    return min(count, limit)
