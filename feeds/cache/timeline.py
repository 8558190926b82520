"""A list of posts in feed order as a ZSET: inboxes, outboxes, open fan-outs (A19, A28, A30).

Score = minus the position in ms, member = the id mirrored within its 19 digits, so the newest comes
first: Redis looks for the place of a new entry from the front. The list is complete from its top
down to its oldest entry, the floor. Behind them all stands a mark: `END`, nothing is older (S0's
NoMore), or `MORE`, the list goes on in the database. Before them stands `TOP`, whose score tells
the generation of what was cached: a read of the newest begins with it.

- One key, whole or gone whenever Redis evicts it, and never without the mark: a lost list and an
  empty one cannot be taken for each other (T46).
- The same key holds the lease of whoever is filling it in. A writer, after the commit, adds to a
  list that is there (T43) and never below its floor (T44), and deletes a lease (T45).
- What is trimmed or removed takes the mark of the end, or the whole list, along (T46, T47).
- A version with entries of another form gives its marks other names, and keeps the keys: readers
  take a list with unknown marks for missing, and writers delete it.

A listpack of ids of one width takes about 21 bytes an entry: set `zset-max-listpack-entries` 512.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.conf import settings

from socialsite.core import redis
from socialsite.core.cache.lease import Lease
from socialsite.core.cache.reads import ById
from socialsite.core.ids import MAX_ID, MIN_ID
from socialsite.core.positions import Position
from socialsite.core.redis import scripts

ID_DIGITS = 19
_MIRROR = MIN_ID + MAX_ID
END, MORE, TOP = b"e", b"m", b"t"
# Their scores: behind every position (ms), and before them, from where generations count away.
BOTTOM, ABOVE = 1, -(2**52)
# A list is cut down to CAP entries when it has SLACK more.
CAP, SLACK = 400, 80
# Redis does nothing else while a script runs: a thousand inboxes take some ms.
KEYS_MAX = 500
_COUNTED = scripts.Split(scripts.same, sum)


# A score, of one that was read as Redis gives it, and a member.
Entry = tuple[int | bytes, bytes]
# A generation and the newest entries.
Newest = tuple[int, Sequence[Entry]]


class Run(NamedTuple):
    """The next entries of one list. With fewer than were asked for it `ends`, or goes on below.

    An entry is as `entry_of` makes it.
    """

    entries: list[Entry]
    ends: bool
    generation: int

    def positions(self, reach: int = 0, most: int | None = None) -> list[Position]:
        """Return the entries at or above `reach` (ms), `most` of them, as positions of posts."""
        found = []
        for score, member in self.entries[:most]:
            ts_ms = -int(score)
            if ts_ms < reach:
                break
            found.append(Position(ts_ms, _MIRROR - int(member[:ID_DIGITS])))
        return found

    def reaches(self, reach: int) -> bool:
        """True when no further entry of the list is at or above `reach` (ms)."""
        return self.ends or bool(self.entries and -int(self.entries[-1][0]) < reach)


# A list of another version, whose entries have another form.
_FOREIGN = Run([], False, -1)


def _run(reply: list[bytes]) -> Run | None:
    """Read marks and entries as they come from the top: member, score, member, score, …"""
    if not reply:
        return None
    if reply[0] != TOP:
        return _FOREIGN
    generation = ABOVE - int(reply[1])
    last = reply[-2]
    ends = last == END
    if ends or last == MORE:
        del reply[-2:]
    return Run(list(zip(reply[3::2], reply[2::2], strict=True)), ends, generation)


def entry_of(place: Position) -> Entry:
    """Return the list entry of a post."""
    return -place.ts_ms, member_of(place.id)


def member_of(post_id: int) -> bytes:
    """Return an id of `core.ids` as a text that sorts before those of smaller ids."""
    return b"%d" % (_MIRROR - post_id)


class Timeline:
    """Lists under `<prefix>:<owner>`."""

    def __init__(self, prefix: str, ttl_ms: int) -> None:
        self.prefix, self.ttl_ms = prefix, ttl_ms

    def key(self, owner: int) -> str:
        """Return the key of one list."""
        return f"{self.prefix}:{owner}"

    @property
    def most(self) -> int:
        """How many entries are read to fill a list; with fewer, the list ends there."""
        return CAP + 1

    def lease(self, batch: redis.Batch, owners: Sequence[int]) -> Lease:
        """Request the leases that `fill` needs, before the database is read."""
        return Lease(batch, [self.key(owner) for owner in owners])

    def leased(self, lease: Lease | None, owners: Iterable[int]) -> list[int]:
        """Return the owners whose lists may be filled under a lease."""
        return [] if lease is None else [one for one in owners if self.key(one) in lease.acquired]

    def fill(self, owner: int, lease: Lease | None, newest: Newest) -> Run:
        """Cache a list that was read under a lease, if it was acquired; return the whole run.

        `newest` are the first `most` entries, fewer only where there are no more.
        """
        generation, entries = newest
        run = Run(list(entries), len(entries) < self.most, generation)
        if lease is not None and self.leased(lease, [owner]):
            self._fill(owner, lease, run)
        return run

    def _fill(self, owner: int, lease: Lease, run: Run) -> None:
        kept = run.entries[:CAP]
        size, old = settings.MAX_CACHED_POST_SIZE, _old_ms()
        kept = kept[:size] + [entry for entry in kept[size:] if -int(entry[0]) > old]
        mark = END if run.ends and len(kept) == len(run.entries) else MORE
        if mark == MORE and not kept:
            return
        values: list[object] = [BOTTOM, mark]
        for entry in reversed(kept):  # each goes before the existing entries
            values += entry
        values += [ABOVE - run.generation, TOP]
        script = redis.script(__file__, "timeline_fill")
        redis.send_later(*script.command([self.key(owner)], [lease.token, self.ttl_ms, *values]))

    def add(self, owners: Sequence[int], entry: Entry) -> int:
        """Add an entry to the cached lists among these, after the commit; return their number.

        Raises RedisDown; the caller must then invalidate the lists.
        """
        size = settings.MAX_CACHED_POST_SIZE
        script = redis.script(__file__, "timeline_add", _COUNTED)
        limits = [CAP + SLACK, CAP, size, -_old_ms()]
        return self._run_batched(script, owners, [*entry, *limits])

    def remove(self, owners: Sequence[int], member: bytes) -> int:
        """Remove an entry from the cached lists among these. Raises RedisDown."""
        script = redis.script(__file__, "timeline_remove", _COUNTED)
        return self._run_batched(script, owners, [member])

    def _run_batched(
        self, script: redis.Script, owners: Sequence[int], args: Sequence[object]
    ) -> int:
        """Run a script that counts on all keys, in one round trip; RedisDown when one run fails."""
        batch = redis.Batch()
        counts: list[redis.Promise[int]] = [
            batch.add(*script.command([self.key(owner) for owner in some], args))
            for some in _batched(owners)
        ]
        batch.run()
        return sum(count.value for count in counts)

    def invalidate(self, owners: Iterable[int]) -> None:
        """Delete lists and leases, so that running fills fail; call it after the commit."""
        redis.invalidate([self.key(owner) for owner in owners])


class Runs(ById[Run]):
    """The `want` entries after a cursor of some lists, by owner; subclasses read missing lists.

    None are known without Redis; a key with a lease has none.
    """

    _promises: Sequence[tuple[int, redis.Promise[Run | None]]] = ()
    _lease: Lease | None = None
    _foreign: Sequence[int] = ()

    def __init__(
        self, lists: Timeline, cursor: Position | None, want: int, owners: Iterable[int] = ()
    ) -> None:
        self._lists, self.cursor, self.want = lists, cursor, want
        super().__init__(owners)

    def ask(self, batch: redis.Batch) -> None:
        key, cursor, want = self._lists.key, self.cursor, self.want
        fresh, self._fresh = self._fresh, set()
        if cursor is None:
            self._promises = [
                (owner, batch.add("ZRANGE", key(owner), 0, want, "WITHSCORES", read=_run))
                for owner in fresh
            ]
            return
        script = redis.script(__file__, "timeline_run")
        # The colon sorts behind any digits that follow the id in longer members.
        last = member_of(max(cursor.id, MIN_ID)) + b":"
        place = [want, max(-cursor.ts_ms, ABOVE + 1), last]
        self._promises = [
            (owner, batch.add(*script.command([key(owner)], place), read=_run)) for owner in fresh
        ]

    def take(self) -> None:
        for owner, promise in self._promises:
            if (run := promise.known) is _FOREIGN:
                self._foreign = [*self._foreign, owner]
            elif run is not None:
                self.known[owner] = run
                self.missing.discard(owner)

    def lease(self, batch: redis.Batch) -> None:
        if self.missing and self._lease is None:
            if self._foreign:
                batch.add("DEL", *map(self._lists.key, self._foreign))
            self._lease = self._lists.lease(batch, [*self.missing])


def _batched(owners: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(owners), KEYS_MAX):
        yield owners[start : start + KEYS_MAX]


def _old_ms() -> int:
    """Return the position at or below which a post is old (A30); by this host's clock, a hint."""
    return int(time.time() * 1000) - settings.MIN_CACHED_POST_SECONDS * 1000
