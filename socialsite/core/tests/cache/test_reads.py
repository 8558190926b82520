"""The stages of reads: no order of writes between them leaves an old value, or loses a post."""

import itertools
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from operator import methodcaller
from typing import Any
from unittest import mock

import pytest

from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.cache.lease import Epoch, LeaseCache, TaggedCache
from socialsite.core.cache.reads import Read, run
from socialsite.core.tests.cache.loading import Facts

pytestmark = pytest.mark.embedded

HOUR_MS = 3_600_000
CACHE = LeaseCache("test", ttl_ms=HOUR_MS)
OTHER = LeaseCache("other", ttl_ms=HOUR_MS)
EPOCH = Epoch("test")
TAGGED = TaggedCache("tagged", HOUR_MS, EPOCH)
STAGES = ("ask", "_lease", "_query", "_fill")


class Table:
    """A database of one value."""

    def __init__(self) -> None:
        self.value = b"old"

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        return dict.fromkeys(idents, self.value)


def values(cache: LeaseCache, table: Table, *idents: int) -> Facts:
    return Facts(cache, table.read, idents)


def cached(cache: LeaseCache, *idents: int) -> dict[int, bytes]:
    batch = redis.Batch()
    asked = cache.ask(batch, idents)
    batch.run()
    return asked.found


@contextmanager
def before(stage: str, act: Callable[[], Any]) -> Iterator[list[Any]]:
    """Act once, just before the next run of a stage; gives what still waits, if none was run."""
    real, waiting = getattr(reads, stage), [act]

    def late(*args: Any) -> Any:
        if waiting:
            waiting.pop()()
        return real(*args)

    with mock.patch.object(reads, stage, late):
        yield waiting


@contextmanager
def swapped(one: str, other: str) -> Iterator[None]:
    """Let two stages change places."""
    parts = {one: getattr(reads, other), other: getattr(reads, one)}
    with mock.patch.multiple(reads, **parts):
        yield


# --- one cache ----------------------------------------------------------------------------------
def is_stale_after_a_write_before(stage: str, cache: LeaseCache) -> bool:
    """Read while a writer commits and invalidates; True when the cache has the old value."""
    redis.call(lambda connection: connection.flushdb())
    table = Table()

    def write() -> None:
        table.value = b"new"
        if cache is TAGGED:
            EPOCH.renew()
        else:
            cache.invalidate([1, 2])

    with before(stage, write) as waiting:
        run(values(cache, table, 1, 2))
    assert not waiting
    return b"old" in cached(cache, 1, 2).values()


@pytest.mark.parametrize("cache", [CACHE, TAGGED])
@pytest.mark.parametrize("stage", STAGES)
def test_a_write_between_two_stages_leaves_no_old_value(stage: str, cache: LeaseCache) -> None:
    assert not is_stale_after_a_write_before(stage, cache)


@pytest.mark.parametrize("cache", [CACHE, TAGGED])
def test_a_write_between_two_stages_would_leave_one_if_leases_came_second(
    cache: LeaseCache,
) -> None:
    with swapped("_lease", "_query"):
        assert any(is_stale_after_a_write_before(stage, cache) for stage in STAGES)


def test_all_reads_share_two_round_trips_and_cached_values_are_not_queried(
    round_trips: list[int],
) -> None:
    table = Table()
    run(values(CACHE, table, 1))
    round_trips.clear()
    table.value = b"new"
    one, other = values(CACHE, table, 1, 2), values(OTHER, table, 3)
    run(one, other)
    assert len(round_trips) == 4  # and each of two fills goes out by itself
    assert (one.value, other.value) == ({1: b"old", 2: b"new"}, {3: b"new"})
    round_trips.clear()
    again = values(CACHE, table, 1, 2)
    run(again, one, other)
    assert len(round_trips) == 1
    assert again.value == one.value


def test_reads_asked_and_leased_ahead_finish_later_without_asking_again(
    round_trips: list[int],
) -> None:
    table = Table()
    first, later = values(CACHE, table, 1), values(OTHER, table, 2)
    later.expect([3])
    run(first, ahead=[later])
    assert later.value == {}
    round_trips.clear()
    with redis.gathered():
        run(later)
        assert round_trips == []
    assert later.value == {2: b"old"}
    assert cached(OTHER, 2, 3) == {2: b"old"}
    assert OTHER.key(3) not in str(redis.call(lambda connection: connection.keys()))
    reads.ask(guess := values(CACHE, table, 9))
    assert cached(CACHE, 9) == {}
    run(guess)
    assert cached(CACHE, 9) == {9: b"old"}


def test_without_redis_the_database_answers(dead_redis: Any) -> None:
    with dead_redis():
        for cache in (CACHE, TAGGED):
            one = values(cache, Table(), 1)
            run(one)
            assert one.value == {1: b"old"}


# --- values with a token ------------------------------------------------------------------------
def test_values_of_an_older_epoch_are_read_and_cached_anew() -> None:
    table = Table()
    run(values(TAGGED, table, 1))
    assert cached(TAGGED, 1) == {1: b"old"}
    EPOCH.renew()
    for token in (None, b"x" * 12, b"y"):
        if token is not None:
            redis.call(methodcaller("set", EPOCH.key, token))
        assert cached(TAGGED, 1) == {}
        table.value = b"of %b" % (token or b"nobody")
        run(one := values(TAGGED, table, 1))
        assert one.value == cached(TAGGED, 1) == {1: table.value}


def test_no_token_is_taken_for_the_beginning_of_another() -> None:
    redis.call(lambda connection: connection.set(EPOCH.key, b"ab"))
    run(values(TAGGED, Table(), 1))
    for token in (b"a", b"abo", b"b"):
        redis.call(methodcaller("set", EPOCH.key, token))
        assert cached(TAGGED, 1) == {}


# --- the order of answers (docs/decisions/0001) ------------------------------------------------
class Site:
    """A post that is delivered: from the list of open fan-outs to an inbox, both of them cached."""

    def __init__(self) -> None:
        self.rows = {"open": {b"post"}, "inbox": set[bytes]()}

    def deliver(self) -> None:
        """Commit the inbox and invalidate its cache; then take the post from the open fan-outs."""
        self.rows["inbox"].add(b"post")
        OTHER.invalidate([1])
        self.rows["open"].clear()
        CACHE.invalidate([1])


class Union:
    """Stands for `UnionRead`: what is added is read at once, by `run`."""

    def __init__(self) -> None:
        self._added: list[tuple[list[Any], Callable[[], Any]]] = []

    def add(self, query: Callable[[], Any]) -> list[Any]:
        found: list[Any] = []
        self._added.append((found, query))
        return found

    def run(self) -> None:
        for found, query in self._added:
            found.append(query())


class Posts(Read[set[bytes]]):
    """One of the two lists."""

    def __init__(self, name: str, site: Site, *after: Read[Any]) -> None:
        self.name, self.site, self.after = name, site, after
        self.cache = CACHE if name == "open" else OTHER
        self.found: list[set[bytes]] = []

    def ask(self, batch: redis.Batch) -> None:
        self.asked = self.cache.ask(batch, [1])

    @property
    def is_cached(self) -> bool:
        return bool(self.asked.found)

    def lease(self, batch: redis.Batch) -> None:
        self.leased = self.cache.lease(batch, [1])

    def query(self, union: Any) -> None:
        self.found = union.add(lambda: set(self.site.rows[self.name]))

    def fill(self) -> None:
        self.cache.fill(self.leased, {1: b" ".join(self.found[0])})

    @property
    def value(self) -> set[bytes]:
        return self.found[0] if self.found else set(self.asked.found[1].split())


def is_lost(stage: str, warm: Collection[str], *, rule: bool = True) -> bool:
    """Read both lists while the post is delivered; True when it is in neither."""
    redis.call(lambda connection: connection.flushdb())
    site = Site()
    with mock.patch.object(reads, "UnionRead", Union):
        run(*(Posts(name, site) for name in warm))
        opened = Posts("open", site)
        inbox = Posts("inbox", site, *([opened] if rule else []))
        with before(stage, site.deliver):
            run(inbox, opened)
    return not opened.value | inbox.value


WARM = [(), ("open",), ("inbox",), ("open", "inbox")]


@pytest.mark.parametrize("warm", WARM)
@pytest.mark.parametrize("stage", STAGES)
def test_a_post_that_is_delivered_between_two_stages_is_not_lost(
    stage: str, warm: Collection[str]
) -> None:
    assert not is_lost(stage, warm)


def test_a_post_would_be_lost_if_an_inbox_were_older_than_the_open_fan_outs() -> None:
    assert any(is_lost(stage, warm, rule=False) for stage, warm in itertools.product(STAGES, WARM))


def test_a_read_is_asked_after_the_reads_that_must_not_be_newer() -> None:
    order: list[str] = []

    class Noted(Read[None]):
        def __init__(self, name: str, *after: Read[Any]) -> None:
            self.name, self.after = name, after

        def ask(self, batch: redis.Batch) -> None:
            order.append(self.name)

    first = Noted("first")
    second = Noted("second", first)
    run(Noted("third", second), second, first)
    assert order == ["first", "second", "third"]
