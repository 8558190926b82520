"""What a page of the home feed is made of: asked of Redis, and what is not there of the database.

In three steps, each of them one for all sources: ask the caches; take leases on what they lack;
read that, by one statement and so as of one moment.
"""

import contextlib
from collections.abc import Collection
from functools import cached_property
from typing import Any, ClassVar

from django.db.models import QuerySet, Value

from feeds import cache, readers
from feeds.cache.timeline import Entry, Run, member_of
from feeds.models import AuthorHead, FanOut, InboxEntry
from relations import queries as relations
from socialsite.core.leased import Lease
from socialsite.core.pagination import NEWEST, Position, before
from socialsite.core.prepared import NOTHING, Together, prepared
from socialsite.core.redis import Batch, RedisDown

# Rows of an inbox read beyond the wanted ones, for those of people who are not followed any more.
SPARE = 5
# With more authors who were ever not pushed to all, no process keeps them in mind.
PULLED_MAX = 20_000


class InboxRows:
    """The next rows of an inbox and its state, read by one statement."""

    def __init__(
        self, together: Together, viewer_id: int, cursor: Position | None, limit: int
    ) -> None:
        self._viewer_id, self._limit = viewer_id, limit
        self._found = together.add(_rows_after, viewer_id, *(cursor or NEWEST), limit=limit)
        self._states = together.add(readers.states_of, viewer_id)

    def followed(self, follows: Collection[int], most: int) -> list[Position]:
        """Return the first `most` that are by people who are followed."""
        kept: list[Position] = []
        for ts_ms, post_id, author_id, _ in self._newest_first:
            if author_id in follows:
                kept.append(Position(ts_ms, post_id))
                if len(kept) == most:
                    break
        return kept

    @property
    def last(self) -> Position | None:
        """After which row there may be more."""
        return Position(*self._newest_first[-1][:2]) if len(self._found) == self._limit else None

    @property
    def entries(self) -> list[Entry]:
        """What a cached inbox has of them."""
        return [(-ts_ms, member_of(post_id)) for ts_ms, post_id, _, _ in self._newest_first]

    @cached_property
    def _newest_first(self) -> list[tuple[int, int, int, int]]:
        return sorted(self._found, reverse=True)

    @cached_property
    def state(self) -> tuple[int, int]:
        """Generation, and floor (ms)."""
        return readers.state(self._viewer_id, self._states)


class Sources:
    """The sources of one run of a reader's feed, but for the outboxes of others."""

    def __init__(self, batch: Batch, viewer_id: int, cursor: Position | None, want: int) -> None:
        self.viewer_id, self.cursor, self.want = viewer_id, cursor, want
        self._open = cache.AskedOpen(batch, cursor)
        self._pulled = _AskedPulled(batch)
        self._ask_inbox(batch)
        self._own = cache.OUTBOX.ask(batch, [viewer_id], cursor, want)
        self._inbox_lease: Lease | None = None
        self._fills = False
        # After `load`: posts whose fan-out is not done, and whether these are all.
        self.open_posts: list[cache.OpenPost] = []
        self.has_all_open = False
        # What was read of the inbox, if it was.
        self.rows: InboxRows | None = None

    def _ask_inbox(self, batch: Batch) -> None:
        self._inbox = cache.INBOX.ask(batch, [self.viewer_id], self.cursor, self.want)

    @property
    def inbox(self) -> Run | None:
        """The inbox as far as it is cached."""
        return self._inbox.found.get(self.viewer_id)

    @property
    def own(self) -> Run | None:
        """The reader's own posts as far as they are cached."""
        return self._own.found.get(self.viewer_id)

    def prepare(self, batch: Batch) -> None:
        """Add what is needed to cache what was not found; none of it is read before that."""
        self._pulled.prepare(batch)
        self._open.prepare(batch)
        # A reader far down would fill a list that does not reach it.
        if self.cursor is None and self.inbox is None:
            self._inbox_lease = cache.INBOX.lease(batch, [self.viewer_id])

    def load(self, together: Together, *, with_inbox: bool) -> None:
        """Read, by one statement, what else was added to it, what was not found, and the inbox.

        Where not all open fan-outs are cached the inbox is left for the statement that reads them:
        what says "it is pushed" must not be newer.
        """
        known = self._open.found
        posts = [] if known is not None else together.add(_open_rows, limit=self._open.most)
        self._pulled.add_to(together, self.viewer_id, anew=known is None)
        if with_inbox and (known is None or known[1]):
            self._add_inbox(together)
        together.run()
        self._pulled.keep()
        self._fill_inbox()
        if known is None:
            known = self._open.fill(_open_posts(posts))
            if self.rows is None and self.inbox is not None:
                batch = Batch()
                self._ask_inbox(batch)
                batch.run()
        self.open_posts, self.has_all_open = known

    def load_open_of(self, authors: Collection[int]) -> None:
        """Read the first wanted open fan-outs of some authors, where not all are cached."""
        together, place = Together(), self.cursor or NEWEST
        posts = together.add(_open_of, authors, *place, limit=self.want) if authors else []
        self._add_inbox(together)
        together.run()
        self._fill_inbox()
        self.open_posts = _open_posts(posts)

    def _add_inbox(self, together: Together) -> None:
        self._fills = bool(cache.INBOX.held(self._inbox_lease, [self.viewer_id]))
        limit = cache.INBOX.most if self._fills else self.want + SPARE
        self.rows = InboxRows(together, self.viewer_id, self.cursor, limit)

    def _fill_inbox(self) -> None:
        if self.rows is not None and self._fills:
            newest = self.rows.state[0], self.rows.entries
            cache.INBOX.fill(self.viewer_id, self._inbox_lease, newest)
            self._inbox_lease = None

    def pulled(self, reach: int) -> frozenset[int]:
        """Return who may have a post at or above `reach` (ms) that is not pushed to all.

        Of those whom the reader follows everybody, and some others.
        """
        return self._pulled.authors(reach)


class _AskedPulled:
    """Who ever published what is not pushed to all: few authors, kept in mind by each process.

    They count only while the epoch that they were read under is the present one.
    """

    # The epoch, and the authors; None for too many.
    _kept: ClassVar[tuple[bytes, frozenset[int] | None] | None] = None

    def __init__(self, batch: Batch) -> None:
        self._epoch = cache.PULLED.ask(batch)
        self._known: frozenset[int] | None = None
        self._of_follows: list[Any] = []
        self._everybody: tuple[bytes, list[Any]] | None = None

    def prepare(self, batch: Batch) -> None:
        with contextlib.suppress(RedisDown):
            if self._epoch.value is None:
                self._epoch = cache.PULLED.ask_start(batch)

    def add_to(self, together: Together, viewer_id: int, *, anew: bool) -> None:
        """Add what reads them, unless they are kept in mind; `anew` where that is too old."""
        try:
            epoch = self._epoch.value
        except RedisDown:
            epoch = None
        kept = self._kept  # once: another thread may keep others
        is_present = kept is not None and kept[0] == epoch
        if kept is not None and is_present and kept[1] is not None and not anew:
            self._known = kept[1]
            return
        self._of_follows = together.add(_pulled_follows, viewer_id)
        if epoch is not None and not is_present:
            self._everybody = epoch, together.add(_pulled, limit=PULLED_MAX + 1)

    def keep(self) -> None:
        """Keep in mind what was read."""
        if self._everybody is not None:
            epoch, rows = self._everybody
            found = frozenset(author for author, *_ in rows)
            _AskedPulled._kept = epoch, found if len(found) <= PULLED_MAX else None

    def authors(self, reach: int) -> frozenset[int]:
        """Return those who may have a post at or above `reach` (ms); at least of the follows."""
        if self._known is not None:
            return self._known
        return frozenset(author for author, last, *_ in self._of_follows if last >= reach)


# --- statements ---------------------------------------------------------------------------------
# Of four columns, the last of which is the number, to be run together with `feeds.readers`.
@prepared
def _rows_after(
    viewer_id: int, ts_ms: int, post_id: int, *, limit: int, number: int
) -> "QuerySet[InboxEntry, Any]":
    place = before(Position(ts_ms, post_id), "publish_time", "post_id")
    rows = InboxEntry.objects.filter(place, user_id=viewer_id)
    rows = rows.order_by("-publish_time", "-post_id")
    return rows.values_list("publish_time", "post_id", "author_id", Value(number))[:limit]


@prepared
def _open_rows(*, limit: int, number: int) -> "QuerySet[FanOut, Any]":
    return _open(FanOut.objects.all(), limit, number)


@prepared
def _open_of(
    author_ids: Collection[int], ts_ms: int, post_id: int, *, limit: int, number: int
) -> "QuerySet[FanOut, Any]":
    place = before(Position(ts_ms, post_id), "position", "post_id")
    return _open(FanOut.objects.filter(place, author_id__in=author_ids), limit, number)


def _open(rows: "QuerySet[FanOut]", limit: int, number: int) -> "QuerySet[FanOut, Any]":
    rows = rows.filter(state__lt=FanOut.State.DONE).order_by("-position", "-post_id")
    return rows.values_list("position", "post_id", "author_id", Value(number))[:limit]


def _open_posts(rows: list[Any]) -> list[cache.OpenPost]:
    return [(Position(ts, post), author) for ts, post, author, _ in sorted(rows, reverse=True)]


@prepared
def _pulled(*, limit: int, number: int) -> "QuerySet[AuthorHead, Any]":
    heads = AuthorHead.objects.filter(last_pulled_position__gt=0)
    return heads.values_list("author_id", NOTHING, NOTHING, Value(number))[:limit]


@prepared
def _pulled_follows(viewer_id: int, *, number: int) -> "QuerySet[AuthorHead, Any]":
    heads = AuthorHead.objects.filter(last_pulled_position__gt=0)
    heads = heads.filter(author_id__in=relations.following_ids(viewer_id))
    return heads.values_list("author_id", "last_pulled_position", NOTHING, Value(number))
