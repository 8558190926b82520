"""What a reader's feed depends on besides posts: follows, blocks, and how complete the inbox is.

Read from the database by one statement: what says "the inbox has it" is then never newer than the
generation, and a cached inbox of that generation has it (docs/decisions/0001).
"""

import contextlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet, Value

from accounts import queries as accounts
from feeds import cache
from feeds.models import InboxEdge, InboxState
from relations import queries as relations
from socialsite.core import db, redis
from socialsite.core.ids import MAX_ID
from socialsite.core.leased import Lease
from socialsite.core.prepared import NOTHING, Together, prepared
from socialsite.core.unpacked import Unpacked


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader; `id` is None for a guest.

    `incomplete` has the followed authors of whom the inbox lacks posts: at or below which position
    (ms) they are pulled, MAX_ID for all of them. At or below `inbox_floor` everybody's are.
    """

    id: int | None
    follows: frozenset[int] = frozenset()
    blocked: frozenset[int] = frozenset()
    incomplete: dict[int, int] = field(default_factory=dict)
    inbox_floor: int = 0
    generation: int = 0


GUEST = Reader(None)


class AskedReader:
    """A reader asked for in a batch; read from the database where the cache does not know them."""

    def __init__(self, batch: redis.Batch, viewer_id: int) -> None:
        self._id = viewer_id
        self._standing = accounts.STANDING.ask(batch)
        self._asked = cache.READERS.ask(batch, [viewer_id])
        self._lease: Lease | None = None
        self._rows: _Rows | None = None

    @cached_property
    def cached(self) -> Reader | None:
        """The reader as they are cached; None where they are to be read from the database."""
        try:
            standing = self._standing.value
        except redis.RedisDown:
            return None
        packed = self._asked.found.get(self._id)
        if packed is None or standing is None:
            return None
        return _unpack(self._id, packed, standing)

    def prepare(self, batch: redis.Batch) -> None:
        """Add what is needed to cache the reader, unless they are, before the database is read."""
        if self.cached is not None:
            return
        try:
            if self._standing.value is None:
                self._standing = accounts.STANDING.ask_start(batch)
        except redis.RedisDown:
            return
        is_stale = self._id in self._asked.found
        lease = cache.READERS.lease_anew if is_stale else cache.READERS.lease
        self._lease = lease(batch, [self._id])

    def add_to(self, together: Together) -> None:
        """Add what reads the reader, unless they are cached."""
        if self.cached is None:
            self._rows = _Rows(together, self._id)

    def reader(self) -> Reader:
        """Return the reader; of those not cached, what was read in the statement, now run."""
        if self.cached is not None:
            return self.cached
        if self._rows is None:
            return self._read_alone()
        reader = self._rows.reader()
        with contextlib.suppress(redis.RedisDown):
            if self._lease is not None and (standing := self._standing.value) is not None:
                cache.READERS.fill(self._lease, {self._id: _pack(reader, standing)})
        return reader

    def _read_alone(self) -> Reader:
        batch, together = redis.Batch(), Together()
        self.prepare(batch)
        batch.run()
        self.add_to(together)
        together.run()
        return self.reader()


def one(viewer_id: int | None) -> Reader:
    """Return a reader, a guest for None."""
    if viewer_id is None:
        return GUEST
    batch = redis.Batch()
    asked = AskedReader(batch, viewer_id)
    batch.run()
    return asked.reader()


class _Rows:
    """What makes a reader, as it stands in the database."""

    def __init__(self, together: Together, viewer_id: int) -> None:
        self._viewer_id = viewer_id
        self._ties = together.add(_ties, viewer_id)
        self._complete = together.add(_complete, viewer_id)
        self._states = together.add(states_of, viewer_id)

    def reader(self) -> Reader:
        followed = frozenset(other for other, follows, *_ in self._ties if follows)
        blocked = frozenset(other for other, follows, *_ in self._ties if not follows)
        known = {author: below for author, below, *_ in self._complete}
        incomplete = {author: known.get(author, MAX_ID) for author in followed}
        generation, floor = state(self._viewer_id, self._states)
        return Reader(
            self._viewer_id,
            followed,
            blocked,
            {author: below for author, below in incomplete.items() if below},
            floor,
            generation,
        )


def read(viewer_id: int) -> Reader:
    """Read a reader from the database, by one statement."""
    together = Together()
    rows = _Rows(together, viewer_id)
    together.run()
    return rows.reader()


def state(viewer_id: int, rows: Sequence[tuple[Any, ...]] | None = None) -> tuple[int, int]:
    """Return generation and floor of an inbox, from `states_of` if it was read already.

    Makes its row where there is none: neither could rise.
    """
    found = states_of(viewer_id, number=0) if rows is None else rows
    if not found:
        db.ensure(InboxState(viewer_id=viewer_id))
        return 0, 0
    generation, floor, *_ = found[0]
    return generation, floor


@prepared
def states_of(viewer_id: int, *, number: int) -> "QuerySet[InboxState, Any]":
    """Find the state of an inbox, for `Together`."""
    rows = InboxState.objects.filter(viewer_id=viewer_id)
    return rows.values_list("generation", "inbox_floor", NOTHING, Value(number))


@prepared
def _ties(viewer_id: int, *, number: int) -> "QuerySet[Any, Any]":
    # Follows without banned and closed accounts: the gate would hide all they posted, row by row.
    # Blocks of all: they hold also for who is unbanned before the page is made (T42).
    is_open = Q(to_user__banned_at__isnull=True, to_user__deleted_at__isnull=True)
    ties = relations.ties(viewer_id).filter(Q(follows=False) | is_open)
    return ties.values_list("to_user_id", "follows", NOTHING, Value(number))


@prepared
def _complete(viewer_id: int, *, number: int) -> "QuerySet[InboxEdge, Any]":
    edges = InboxEdge.objects.filter(viewer_id=viewer_id, backfilled_from__isnull=False)
    return edges.values_list("author_id", "backfilled_from", NOTHING, Value(number))


def _pack(reader: Reader, standing: bytes) -> bytes:
    incomplete = [number for pair in reader.incomplete.items() for number in pair]
    counts = [len(reader.follows), len(reader.blocked)]
    numbers = [reader.generation, reader.inbox_floor, *counts]
    packed = array("q", [*numbers, *reader.follows, *reader.blocked, *incomplete])
    return bytes([len(standing)]) + standing + packed.tobytes()


def _unpack(viewer_id: int, packed: bytes, standing: bytes) -> Reader | None:
    """Return the reader that was packed; None when people were banned or closed since."""
    start = packed[0] + 1
    if packed[1:start] != standing:
        return None
    known = _unpacked.get(viewer_id)
    if known is not None and known[0] == packed:
        return known[1]
    numbers = array("q")
    numbers.frombytes(packed[start:])
    generation, floor, follows, blocked = numbers[:4]
    ends = 4 + follows, 4 + follows + blocked
    rest = numbers[ends[1] :]
    reader = Reader(
        viewer_id,
        frozenset(numbers[4 : ends[0]]),
        frozenset(numbers[ends[0] : ends[1]]),
        dict(zip(rest[::2], rest[1::2], strict=True)),
        floor,
        generation,
    )
    _unpacked.keep(viewer_id, packed, reader)
    return reader


_unpacked: Unpacked[Reader] = Unpacked(2_000_000)
