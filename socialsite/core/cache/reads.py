"""The reads of one page, in stages: ask the caches, lease missing values, query them, fill.

`run` takes several reads through the stages together: one round trip asks the caches, one takes
leases, one statement runs all queries, then the fills. A read that depends on the answer of another
belongs to a later `run`.

The order of the stages keeps pages and caches consistent without a snapshot, and this module is the
only place that knows it (docs/decisions/0001):

- Leases come before the statement. A writer who commits in between deletes the lease, so no cache
  is filled with rows from before the commit.
- A read is never older than the reads in its `after`. Caches are asked for those first; if one of
  them comes from the database, the read does too, in the same statement.

The family: `Read` is one answer. `ById` has an answer for each id, and knows which are missing;
`Values` has one cached value for each id (cards, people, counts, `Numbers`), `Runs` of
`feeds.cache.timeline` the beginning of a list (inbox, outboxes, open fan-outs), and `Marked` of
`interactions.cache` the marks that a person set on some ids (likes, bookmarks, votes).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from socialsite.core.cache.lease import Lease, LeaseCache, Lookup
from socialsite.core.db.compiled import UnionRead
from socialsite.core.redis import Batch

T = TypeVar("T")


class Read(Generic[T]):
    """One part of a page; `value` is available after `run`."""

    # Reads whose answers must not be newer than the answer of this one.
    after: Sequence["Read[Any]"] = ()
    # Whether all cache commands were sent, and the part of the batch that has them.
    is_asked = False
    part = 0

    def ask(self, batch: Batch) -> None:
        """Add the commands that read the caches."""

    def take(self) -> None:
        """Receive the replies, if any."""

    @property
    def is_cached(self) -> bool:
        """Whether the caches had the answer; then the further stages are skipped."""
        return True

    def lease(self, batch: Batch) -> None:
        """Add the leases on missing values."""

    def query(self, union: UnionRead) -> None:
        """Add the queries of missing values.

        A query whose columns do not fit the union runs here by itself.
        """

    def fill(self) -> None:
        """Receive the rows, and cache those whose leases were acquired."""

    @property
    def value(self) -> T:
        """The answer, after the last stage."""
        raise NotImplementedError


def ask(*reads: Read[Any]) -> None:
    """Ask the caches in one round trip; a later `run` does the other stages."""
    fresh = [read for read in reads if not read.is_asked]
    if fresh:
        batch = Batch()
        asked: list[Read[Any]] = []
        for read in fresh:
            _ask(read, batch, asked)
        batch.run()
        for read in asked:
            read.take()


def join(read: Read[Any], batch: Batch) -> Callable[[], None]:
    """Ask for a read in a batch of others, unless it was; return what receives the replies."""
    if read.is_asked:
        return lambda: None
    read.is_asked = True
    read.ask(batch)
    return read.take


def run(*reads: Read[Any], ahead: Sequence[Read[Any]] = ()) -> None:
    """Take reads through all stages; caches that were asked before are not asked again.

    The reads `ahead` only join the two round trips: a later `run` finishes them.
    """
    ask(*reads, *ahead)
    incomplete = [*filter(_is_incomplete, reads)]
    leasing = [*incomplete, *filter(_is_incomplete, ahead)]
    if leasing:
        _lease(leasing)
    if incomplete:
        _query(incomplete)
        _fill(incomplete)


def _ask(read: Read[Any], batch: Batch, asked: list[Read[Any]]) -> None:
    for other in read.after:
        _ask(other, batch, asked)
        if other.part == batch.part and other in asked:
            batch.then()
    if not read.is_asked:
        read.is_asked, read.part = True, batch.part
        read.ask(batch)
        asked.append(read)


def _is_incomplete(read: Read[Any]) -> bool:
    """Return True if the answer is not cached, or a read of `after` is not."""
    for other in read.after:
        if not other.is_cached:
            return True
    return not read.is_cached


def _lease(reads: Sequence[Read[Any]]) -> None:
    batch = Batch()
    for read in reads:
        read.lease(batch)
    batch.run()


def _query(reads: Sequence[Read[Any]]) -> None:
    union = UnionRead()
    for read in reads:
        read.query(union)
    union.run()


def _fill(reads: Sequence[Read[Any]]) -> None:
    for read in reads:
        read.fill()


class ById(Read[Any], Generic[T]):
    """Answers by id: those that are `known` so far, and the ids that are needed and `missing`.

    `expect`ed ids are looked up in the caches only; `need`ed ids are also read from the database.
    """

    def __init__(self, idents: Iterable[int] = ()) -> None:
        self.known: dict[int, T] = {}
        self.missing = {*idents}
        self._wanted = {*self.missing}
        self._fresh = {*self.missing}
        self.is_asked = not self.missing

    def expect(self, idents: Iterable[int]) -> None:
        """Look up some ids in the next round trip, whether they are needed or not."""
        fresh = {*idents} - self._wanted
        if fresh:
            self._wanted |= fresh
            self._fresh |= fresh
            self.is_asked = False

    def need(self, idents: Collection[int]) -> None:
        """Answer for some ids after the next `run`."""
        known = self.known
        missing = [ident for ident in idents if ident not in known]
        if missing:
            self.missing.update(missing)
            self.expect(missing)

    def add_found(self, found: Mapping[int, T]) -> None:
        """Add answers that were found."""
        self.known.update(found)
        self.missing.difference_update(found)

    @property
    def is_cached(self) -> bool:
        """Whether all ids that are needed are known."""
        return not self.missing

    @property
    def value(self) -> Any:
        """The answers."""
        return self.known


class Values(ById[T]):
    """Values of one cache; a subclass names the cache and reads the missing values."""

    cache: LeaseCache

    _asked: Lookup | None = None
    _leases: tuple[Lease, ...] = ()
    _leased: frozenset[int] = frozenset()
    _rows: Mapping[int, bytes] = {}

    def read(self, idents: Collection[int]) -> Mapping[int, bytes]:
        """Read values from the database, encoded as in the cache."""
        raise NotImplementedError

    def decode(self, found: Mapping[int, bytes]) -> Mapping[int, T]:
        """Return the decoded values."""
        raise NotImplementedError

    def ask(self, batch: Batch) -> None:
        self._asked, self._fresh = self.cache.ask(batch, [*self._fresh]), set()

    def take(self) -> None:
        if self._asked is not None:
            self.add_found(self.decode(self._asked.found))

    def lease(self, batch: Batch) -> None:
        fresh = [*(self.missing - self._leased)]
        if fresh:
            self._leased |= {*fresh}
            self._leases += (self.cache.lease(batch, fresh, self._asked),)

    def query(self, union: UnionRead) -> None:
        self._rows = self.read(self.missing) if self.missing else {}

    def fill(self) -> None:
        for lease in self._leases:
            self.cache.fill(lease, self._rows)
        self.add_found(self.decode(self._rows))


class Numbers(Values[int]):
    """Values that are numbers."""

    def decode(self, found: Mapping[int, bytes]) -> dict[int, int]:
        """Return the numbers."""
        return {ident: int(value) for ident, value in found.items()}
