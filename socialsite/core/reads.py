"""The reads of one page, in stages: ask the caches, lease what they lack, query it, fill it in.

`run` takes several reads through the stages together: one round trip for what they ask, one for
their leases, one statement for their queries, then the fills. A read that depends on the answer of
another belongs to a later `run`.

The order of the stages keeps pages and caches consistent without a snapshot, and this module is the
only place that knows it (docs/decisions/0001):

- Leases come before the statement. A writer who commits in between takes the lease away, so no
  cache is filled with rows of before the commit.
- A read is never older than the reads in its `after`. They are asked for first; and where one of
  them comes from the database, the read does too, by the same statement and so of one moment.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from socialsite.core.leased import Asked, Lease, LeasedCache
from socialsite.core.prepared import Together
from socialsite.core.redis import Batch

T = TypeVar("T")


class Read(Generic[T]):
    """One part of a page. Its `value` is there after `run`."""

    # Reads whose answers must not be newer than the answer of this one.
    after: Sequence["Read[Any]"] = ()
    # Whether everything that it has to ask was asked.
    is_asked = False

    def ask(self, batch: Batch) -> None:
        """Add the commands that ask the caches."""

    def take(self) -> None:
        """Take the replies, if there are any."""

    @property
    def is_cached(self) -> bool:
        """Whether the caches gave the answer, so that no further stage is needed."""
        return True

    def lease(self, batch: Batch) -> None:
        """Add the leases on what the caches lack."""

    def query(self, union: Together) -> None:
        """Add the queries of what the caches lack.

        A query whose columns do not fit the union is run here by itself.
        """

    def fill(self) -> None:
        """Take the rows, and cache them where the leases were had."""

    @property
    def value(self) -> T:
        """The answer, after the last stage."""
        raise NotImplementedError


def ask(*reads: Read[Any]) -> None:
    """Ask the caches in one round trip, and leave the other stages to a later `run`."""
    fresh = [read for read in reads if not read.is_asked]
    if fresh:
        batch, asked = Batch(), fresh[:0]
        for read in fresh:
            _ask(read, batch, asked)
        batch.run()
        for read in asked:
            read.take()


def run(*reads: Read[Any], ahead: Sequence[Read[Any]] = ()) -> None:
    """Take reads through all stages; what was asked before is not asked again.

    The reads `ahead` only join the two round trips: a later `run` finishes them.
    """
    ask(*reads, *ahead)
    lacking = [read for read in reads if not read.is_cached or (read.after and _is_older(read))]
    leasing = [read for read in ahead if not read.is_cached or (read.after and _is_older(read))]
    if lacking or leasing:
        _lease(lacking + leasing)
    if lacking:
        _query(lacking)
        _fill(lacking)


def _ask(read: Read[Any], batch: Batch, asked: list[Read[Any]]) -> None:
    for other in read.after:
        _ask(other, batch, asked)
    if not read.is_asked:
        read.is_asked = True
        read.ask(batch)
        asked.append(read)


def _is_older(read: Read[Any]) -> bool:
    """Tell whether the cached answer is older than one that must not be newer."""
    return any(not other.is_cached for other in read.after)


def _lease(reads: Sequence[Read[Any]]) -> None:
    batch = Batch()
    for read in reads:
        read.lease(batch)
    batch.run()


def _query(reads: Sequence[Read[Any]]) -> None:
    union = Together()
    for read in reads:
        read.query(union)
    union.run()


def _fill(reads: Sequence[Read[Any]]) -> None:
    for read in reads:
        read.fill()


class ById(Read[Any], Generic[T]):
    """Answers by id: those that are `known` so far.

    Ids that are `expect`ed are only asked for; those that are `need`ed are read from the database
    too.
    """

    is_asked = True

    def __init__(self, idents: Iterable[int] = ()) -> None:
        self.known: dict[int, T] = {}
        self._wanted: set[int] = set()
        self._fresh: set[int] = set()
        self._missing: set[int] = set()
        self.need(idents)

    def expect(self, idents: Iterable[int]) -> None:
        """Ask for some ids in the next round trip, whether they are needed or not."""
        fresh = {*idents} - self._wanted
        if fresh:
            self._wanted |= fresh
            self._fresh |= fresh
            self.is_asked = False

    def need(self, idents: Iterable[int]) -> None:
        """Answer for some ids after the next `run`."""
        missing = {*idents}.difference(self.known)
        if missing:
            self._missing |= missing
            self.expect(missing)

    def learn(self, found: Mapping[int, T]) -> None:
        """Take answers."""
        self.known.update(found)
        self._missing.difference_update(found)

    @property
    def is_cached(self) -> bool:
        """Whether all ids that are needed are known."""
        return not self._missing

    @property
    def value(self) -> Any:
        """The answers."""
        return self.known


class Values(ById[T]):
    """Facts of one cache.

    `read`, or a subclass, returns facts as the cache keeps them; `decode` makes answers of such
    facts.
    """

    _asked: Asked | None = None
    _leases: tuple[Lease, ...] = ()
    _leased: frozenset[int] = frozenset()
    _rows: Mapping[int, bytes] = {}

    def __init__(
        self,
        cache: LeasedCache,
        read: Callable[[Collection[int]], Mapping[int, bytes]] | None,
        decode: Callable[[Mapping[int, bytes]], Mapping[int, T]],
        idents: Iterable[int] = (),
    ) -> None:
        self._cache, self._reading, self._decode = cache, read, decode
        super().__init__(idents)

    def ask(self, batch: Batch) -> None:
        self._asked, self._fresh = self._cache.ask(batch, [*self._fresh]), set()

    def take(self) -> None:
        if self._asked is not None:
            self.learn(self._decode(self._asked.found))

    def lease(self, batch: Batch) -> None:
        fresh = [*(self._missing - self._leased)]
        if fresh:
            self._leased |= {*fresh}
            self._leases += (self._cache.lease(batch, fresh, self._asked),)

    def query(self, union: Together) -> None:
        self._rows = self._read(self._missing) if self._missing else {}

    def _read(self, idents: Collection[int]) -> Mapping[int, bytes]:
        if self._reading is None:
            raise NotImplementedError
        return self._reading(idents)

    def fill(self) -> None:
        for lease in self._leases:
            self._cache.fill(lease, self._rows)
        self.learn(self._decode(self._rows))


def as_cached(found: Mapping[int, bytes]) -> Mapping[int, bytes]:
    """Return facts as the cache keeps them, which need no decoding."""
    return found


def numbers(found: Mapping[int, bytes]) -> Mapping[int, int]:
    """Return facts that are numbers."""
    return {ident: int(value) for ident, value in found.items()}
