"""The state of a reader that decides their feed: follows, blocks, completeness of the inbox.

One statement reads it from the database. So the completeness of the inbox is never newer than the
generation, and a cached inbox of that generation has the posts (docs/decisions/0001).
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db.models import F, Q, QuerySet

from feeds import cache
from feeds.models import InboxEdge, InboxState
from relations import queries as relations_queries
from socialsite.core import db, redis
from socialsite.core.cache.reads import Read, run
from socialsite.core.cache.unpacked import Unpacked
from socialsite.core.db.compiled import UnionRead, compiled
from socialsite.core.ids import MAX_ID

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader; `id` is None for a guest.

    `incomplete` maps followed authors whose posts are not all in the inbox to the position (ms) at
    or below which they are pulled; MAX_ID: all. At or below `inbox_floor` all posts are pulled.
    """

    id: int | None
    follows: frozenset[int] = frozenset()
    blocked: frozenset[int] = frozenset()
    incomplete: dict[int, int] = field(default_factory=dict)
    inbox_floor: int = 0
    generation: int = 0


GUEST = Reader(None)


def id_of(viewer: "Viewer") -> int | None:
    """Return the id of who asks; None for a guest."""
    return viewer.pk if viewer is not None and viewer.is_authenticated else None


class ReaderRead(Read[Reader]):
    """A reader, from the cache or from the statement of the page."""

    def __init__(self, viewer_id: int) -> None:
        self.id = viewer_id
        # The reader, once known.
        self.known: Reader | None = None

    def ask(self, batch: redis.Batch) -> None:
        self._asked = cache.READERS.ask(batch, [self.id])

    def take(self) -> None:
        packed = self._asked.found.get(self.id)
        self.known = None if packed is None else _unpack(self.id, packed)

    @property
    def is_cached(self) -> bool:
        return self.known is not None

    def lease(self, batch: redis.Batch) -> None:
        self._lease = cache.READERS.lease(batch, [self.id], self._asked)

    def query(self, union: UnionRead) -> None:
        self._ties = union.add(_ties, self.id)
        self._complete = union.add(_complete, self.id)
        self._states = union.add(states_of, self.id)

    def fill(self) -> None:
        followed = frozenset(other for other, follows in self._ties if follows)
        blocked = frozenset(other for other, follows in self._ties if not follows)
        known = dict(self._complete)
        incomplete = {author: known.get(author, MAX_ID) for author in followed}
        incomplete = {author: below for author, below in incomplete.items() if below}
        generation, floor = inbox_state(self.id, self._states)
        self.known = Reader(self.id, followed, blocked, incomplete, floor, generation)
        if self._lease.acquired:
            cache.READERS.fill(self._lease, {self.id: _pack(self.known)})

    @property
    def value(self) -> Reader:
        if self.known is None:
            raise RuntimeError("the read of the reader was not run")
        return self.known


def reader_of(viewer_id: int | None) -> Reader:
    """Return a reader; GUEST for None."""
    if viewer_id is None:
        return GUEST
    run(found := ReaderRead(viewer_id))
    return found.value


def read_uncached(viewer_id: int) -> Reader:
    """Read a reader from the database, with one statement."""
    with redis.bypassed():
        return reader_of(viewer_id)


def inbox_state(viewer_id: int, rows: Sequence[tuple[Any, ...]] | None = None) -> tuple[int, int]:
    """Return generation and floor of an inbox; `rows` is the result of `states_of`, if known.

    Creates a missing row, as neither value could rise without it.
    """
    found = states_of(viewer_id) if rows is None else rows
    if not found:
        db.ensure(InboxState(viewer_id=viewer_id))
        return 0, 0
    generation, floor = found[0]
    return generation, floor


@compiled
def states_of(viewer_id: int) -> "QuerySet[InboxState, Any]":
    """Select the state of an inbox, for a `UnionRead`."""
    rows = InboxState.objects.filter(viewer_id=viewer_id)
    return rows.values_list("generation", "inbox_floor")


@compiled
def _ties(viewer_id: int) -> "QuerySet[Any, Any]":
    # Follows exclude banned and closed accounts, whose posts the visibility check would hide one by
    # one. Blocks include them: somebody may be unbanned before the page is rendered (T42).
    is_open = Q(to_user__banned_at__isnull=True, to_user__deleted_at__isnull=True)
    ties = relations_queries.ties(viewer_id).filter(Q(follows=False) | is_open)
    return ties.values_list("to_user_id", F("follows"))


@compiled
def _complete(viewer_id: int) -> "QuerySet[InboxEdge, Any]":
    edges = InboxEdge.objects.filter(viewer_id=viewer_id, backfilled_from__isnull=False)
    return edges.values_list("author_id", "backfilled_from")


def _pack(reader: Reader) -> bytes:
    incomplete = [number for pair in reader.incomplete.items() for number in pair]
    counts = [len(reader.follows), len(reader.blocked)]
    numbers = [reader.generation, reader.inbox_floor, *counts]
    return array("q", [*numbers, *reader.follows, *reader.blocked, *incomplete]).tobytes()


def _unpack(viewer_id: int, packed: bytes) -> Reader:
    known = _unpacked.get(viewer_id)
    if known is not None and known[0] == packed:
        return known[1]
    numbers = array("q")
    numbers.frombytes(packed)
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
    _unpacked.store(viewer_id, packed, reader)
    return reader


_unpacked: Unpacked[Reader] = Unpacked(500_000)
