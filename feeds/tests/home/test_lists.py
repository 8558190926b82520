"""Cached lists of posts held to a plain sorted list, on whichever Redis the run has."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from feeds.cache import timeline
from feeds.cache.timeline import (
    ABOVE,
    BOTTOM,
    END,
    MORE,
    TOP,
    Entry,
    Newest,
    Run,
    Runs,
    Timeline,
    entry_of,
    member_of,
)
from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.cache.lease import LEASE_MS, Lease
from socialsite.core.ids import MAX_ID, MIN_ID
from socialsite.core.positions import NEWEST, Position
from socialsite.core.tests.cache.loading import lease_at_once

pytestmark = pytest.mark.embedded

LIST = Timeline("list", 60_000)
OWNER = 1
# Four of each ms, oldest first; ids do not follow the time.
PLACES = [
    Position(ts, MIN_ID + 1000 + 4 * (7 * ts % 11) + n) for ts in range(1, 11) for n in range(4)
]


def load(places: Sequence[Position], generation: int = 0, owner: int = OWNER) -> Run:
    """Read a list from a table that has these posts, and cache it."""
    newest = sorted(places, reverse=True)
    return fill(lambda limit: (generation, [entry_of(one) for one in newest[:limit]]), owner)


def fill(read: Callable[[int], Newest], owner: int = OWNER) -> Run:
    """Take the lease, read, fill in."""
    lease = lease_at_once(LIST.key(owner))
    return LIST.fill(owner, lease, read(LIST.most))


def add(place: Position, owner: int = OWNER) -> int:
    return LIST.add([owner], entry_of(place))


def ask(cursor: Position | None = None, want: int = 1000, owner: int = OWNER) -> Run | None:
    reads.ask(asked := Runs(LIST, cursor, want, [owner]))
    return asked.known.get(owner)


def cached(owner: int = OWNER) -> tuple[list[Position], bool] | None:
    """Return what is cached, and whether it says that the list ends there; None: nothing."""
    run = ask(owner=owner)
    return None if run is None else (run.positions(), run.ends)


def raw() -> list[tuple[bytes, float]]:
    """Return the ZSET as it stands, from the top."""
    key = LIST.key(OWNER)
    found: Any = redis.call(lambda connection: connection.zrange(key, 0, -1, withscores=True))
    return list(found)


def down(*places: Position) -> list[Position]:
    return sorted(places, reverse=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Callable[..., None]:
    """Return a function that makes lists small; all that is at or below `old` (ms) is old."""

    def make(cap: int = 6, slack: int = 2, size: int = 3, old: int = 10**15) -> None:
        monkeypatch.setattr(timeline, "CAP", cap)
        monkeypatch.setattr(timeline, "SLACK", slack)
        monkeypatch.setattr(timeline, "_old_ms", lambda: old)
        settings.MAX_CACHED_POST_SIZE = size

    return make


# --- what is there ------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_list_is_as_it_was_read_with_its_end_and_its_generation(count: int) -> None:
    assert ask() is None
    for run in (load(PLACES[:count], generation=3), ask()):
        assert run is not None
        assert (run.positions(), run.ends, run.generation) == (down(*PLACES[:count]), True, 3)
    assert raw()[0] == (TOP, ABOVE - 3)
    assert raw()[-1] == (END, BOTTOM)


def test_a_long_list_is_cached_down_to_its_floor_without_the_end_mark(small: Any) -> None:
    small(cap=6, size=100)
    assert len(load(PLACES[:6]).entries) == 6
    assert cached() == (down(*PLACES[:6]), True)
    LIST.invalidate([OWNER])
    read = load(PLACES[:7])
    assert (len(read.entries), read.ends) == (7, False)
    assert cached() == (down(*PLACES[1:7]), False)


def test_old_entries_are_excluded_only_beyond_the_size(small: Any) -> None:
    """A30, by age and by number."""
    small(cap=30, size=3, old=2)
    load(PLACES[:3])
    assert cached() == (down(*PLACES[:3]), True)
    LIST.invalidate([OWNER])
    load(PLACES[:9])  # the ninth alone is young
    assert cached() == (down(*PLACES[6:9]), False)
    LIST.invalidate([OWNER])
    load(PLACES[:20])
    assert cached() == (down(*PLACES[8:20]), False)


@pytest.mark.parametrize("generation", [0, 1, 10**6, 2**50])
def test_generations_come_back_as_they_went_in_and_one_more_differs(generation: int) -> None:
    load(PLACES[:2], generation)
    for cursor in (None, NEWEST):
        run = ask(cursor)
        assert run is not None
        assert run.generation == generation


def test_the_largest_id_and_the_smallest_are_stored_exactly() -> None:
    places = [Position(5, ident) for ident in (MAX_ID, MAX_ID - 1, MIN_ID + 1, MIN_ID)]
    load(places[1:])
    add(places[0])
    assert cached() == (places, True)
    assert [run.positions() for run in map(ask, places) if run] == [
        places[1:],
        places[2:],
        places[3:],
        [],
    ]


# --- reads below a cursor -----------------------------------------------------------------------
@pytest.mark.parametrize("ends", [True, False])
def test_any_run_is_that_of_the_sorted_list(small: Any, ends: bool) -> None:
    """T32-T34: posts of the cursor's ms with smaller ids, then older ones with any id."""
    small(cap=len(PLACES), size=1000)
    load(PLACES if ends else [Position(0, 5), *PLACES])
    cursors = [None, NEWEST, Position(3, 0), Position(3, MAX_ID), Position(0, 0), *PLACES[::3]]
    for cursor, want in itertools.product(cursors, [1, 2, 3, 4, 5, 39, 40, 41]):
        below = [one for one in down(*PLACES) if cursor is None or one < cursor]
        run = ask(cursor, want)
        assert run is not None
        assert run.positions() == below[:want]
        # It may say so as soon as nothing is left, and must with fewer than were asked for.
        assert run.ends == (ends and len(below) < want)


def test_an_entry_with_more_than_an_id_is_not_read_again_below_its_place() -> None:
    def read(_limit: int) -> tuple[int, list[Entry]]:
        return 0, [(entry_of(one)[0], entry_of(one)[1] + b"42") for one in down(*PLACES[:8])]

    fill(read)
    for number in range(8):
        run = ask(PLACES[number])
        assert run is not None
        assert run.positions() == down(*PLACES[:number])


def test_a_place_above_everything_that_can_be_is_the_top() -> None:
    load(PLACES[:3], 8)
    assert ask(Position(2**64 - 1, MAX_ID)) == ask(NEWEST) == ask()


# --- writers ------------------------------------------------------------------------------------
def test_nothing_is_added_to_a_list_that_is_not_there() -> None:
    """T43: one entry would look like the whole list."""
    assert add(PLACES[3]) == 0
    assert cached() is None
    assert redis.call(lambda connection: connection.keys()) == []


def test_an_entry_takes_its_place_once() -> None:
    load([PLACES[2], PLACES[6]])
    for place in (PLACES[4], PLACES[0], PLACES[9], PLACES[4]):
        assert add(place) == 1
    assert cached() == (down(*(PLACES[n] for n in (0, 2, 4, 6, 9))), True)


def test_below_the_floor_nothing_is_added_and_at_its_ms_only_larger_ids(small: Any) -> None:
    """T44: an entry below the floor would make what is between them look covered."""
    small(cap=2, slack=50, size=1000)
    load(PLACES[4:7])  # of one ms
    assert cached() == ([PLACES[6], PLACES[5]], False)
    for refused in (PLACES[3], PLACES[4]):
        assert add(refused) == 0
    add(PLACES[5])  # the floor itself, once more
    assert add(PLACES[7]) == 1
    assert add(PLACES[8]) == 1
    assert cached() == ([PLACES[8], PLACES[7], PLACES[6], PLACES[5]], False)


def test_the_last_entry_of_a_list_that_ends_leaves_an_empty_one() -> None:
    """T46: nobody has posts here, which is worth knowing."""
    load([PLACES[1]])
    assert LIST.remove([OWNER], member_of(PLACES[1].id)) == 1
    assert cached() == ([], True)
    add(PLACES[0])
    assert cached() == ([PLACES[0]], True)


def test_removing_the_last_entry_of_an_endless_list_deletes_it(small: Any) -> None:
    small(cap=2, size=1000)
    load(PLACES[:4])
    assert LIST.remove([OWNER], member_of(PLACES[3].id)) == 1
    assert cached() == ([PLACES[2]], False)
    assert LIST.remove([OWNER], member_of(PLACES[2].id)) == 1
    assert cached() is None


def test_an_empty_list_without_an_end_gets_no_entries() -> None:
    marks = {MORE: BOTTOM, TOP: ABOVE}
    redis.call(lambda connection: connection.zadd(LIST.key(OWNER), marks))
    assert add(PLACES[0]) == 0
    assert cached() is None


# A list of a version whose marks and entries have another form.
FOREIGN = {"E": BOTTOM, "9-b": -2, "9-a": -3, "T": ABOVE}


@pytest.mark.parametrize("cursor", [None, PLACES[3]])
def test_a_list_of_another_version_is_missing_and_replaced(cursor: Position | None) -> None:
    key = LIST.key(OWNER)
    redis.call(lambda connection: connection.zadd(key, FOREIGN))
    asked = Runs(LIST, cursor, 1000, [OWNER])
    reads.ask(asked)
    assert asked.known == {}
    batch = redis.Batch()
    asked.lease(batch)
    batch.run()
    assert asked._lease is not None
    assert asked._lease.acquired == {key}


def test_a_writer_deletes_a_list_of_another_version() -> None:
    key = LIST.key(OWNER)
    for write in (add, lambda place: LIST.remove([OWNER], member_of(place.id))):
        redis.call(lambda connection: connection.zadd(key, FOREIGN))
        assert write(PLACES[0]) == 0
        assert redis.call(lambda connection: connection.exists(key)) == 0


def test_a_removed_floor_raises_it(small: Any) -> None:
    small(cap=2, size=1000)
    load(PLACES[:8])
    LIST.remove([OWNER], member_of(PLACES[6].id))
    assert add(PLACES[6]) == 0
    assert cached() == ([PLACES[7]], False)


def test_only_present_entries_are_removed_and_never_a_mark() -> None:
    load(PLACES[:2])
    assert LIST.remove([OWNER], member_of(PLACES[5].id)) == 0
    assert LIST.remove([7], member_of(PLACES[0].id)) == 0
    assert cached() == (down(*PLACES[:2]), True)


def test_beyond_the_cap_the_oldest_go_and_with_them_the_end(small: Any) -> None:
    """T46, T47: however young they are."""
    small(cap=6, slack=2, size=3, old=0)
    load(PLACES[:6])
    for place in PLACES[6:8]:
        add(place)
    assert cached() == (down(*PLACES[:8]), True)
    add(PLACES[8])
    assert cached() == (down(*PLACES[3:9]), False)
    assert add(PLACES[2]) == 0
    for place in PLACES[9:40]:
        add(place)
        assert len(raw()) - 2 <= 8
    found = cached()
    assert found is not None
    assert found[0][:6] == down(*PLACES)[:6]


def test_old_entries_beyond_the_size_go_with_every_sixteenth_but_young_ones_stay(
    small: Any,
) -> None:
    small(cap=100, slack=10, size=5, old=3)
    load(PLACES[:12])
    LIST.invalidate([OWNER])
    small(cap=100, slack=10, size=12, old=3)
    load(PLACES[:12])
    small(cap=100, slack=10, size=5, old=3)
    for place in PLACES[12:15]:
        add(place)
    assert cached() == (down(*PLACES[:15]), True)
    add(PLACES[15])
    assert cached() == (down(*PLACES[11:16]), False)
    for place in PLACES[16:27]:
        add(place)
    # The sixteenth again: the one that is old goes, young ones stay however many they are.
    assert cached() == (down(*PLACES[12:27]), False)


def test_a_list_within_its_size_has_entries_of_any_age(small: Any) -> None:
    small(cap=100, slack=10, size=32, old=10**15)
    load([])
    for place in PLACES[:32]:
        add(place)
    assert cached() == (down(*PLACES[:32]), True)


def test_many_lists_are_updated_at_once_if_they_are_cached() -> None:
    there = [2, 499, 500, 501, 1000, 1001]
    for owner in there:
        load(PLACES[:2], owner=owner)
    everybody = range(1, 1202)
    assert LIST.add(everybody, entry_of(PLACES[5])) == len(there)
    assert all(cached(owner) == (down(*PLACES[:2], PLACES[5]), True) for owner in there)
    assert LIST.remove(everybody, member_of(PLACES[5].id)) == len(there)
    assert all(cached(owner) == (down(*PLACES[:2]), True) for owner in there)
    assert len(redis.call(lambda connection: connection.keys())) == len(there)


# --- fills --------------------------------------------------------------------------------------
def lose() -> None:
    redis.call(lambda connection: connection.delete(LIST.key(OWNER)))


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda: add(PLACES[9]), id="add"),
        pytest.param(lambda: LIST.remove([OWNER], member_of(PLACES[0].id)), id="remove"),
        pytest.param(lambda: LIST.invalidate([OWNER]), id="invalidate"),
        pytest.param(lose, id="eviction"),
        pytest.param(lambda: (lose(), add(PLACES[9])), id="eviction and add"),
    ],
)
def test_values_read_before_a_write_are_never_cached(
    meanwhile: Callable[[], object],
) -> None:
    """T45: the loader has read, a writer invalidates, the loader fills."""

    def read(_limit: int) -> tuple[int, list[Entry]]:
        meanwhile()
        return 0, [entry_of(PLACES[0])]

    assert fill(read).positions() == [PLACES[0]]
    assert cached() is None
    load(PLACES[:3])
    assert cached() == (down(*PLACES[:3]), True)


def test_a_second_loader_neither_waits_nor_fills_and_a_lease_is_no_list() -> None:
    def read(_limit: int) -> tuple[int, list[Entry]]:
        assert load(PLACES[:3]).positions() == down(*PLACES[:3])
        assert cached() is None
        assert ask(PLACES[2]) is None
        return 0, [entry_of(PLACES[0])]

    fill(read)
    assert cached() == ([PLACES[0]], True)


def test_a_late_fill_does_not_replace_the_list_of_another() -> None:
    def read(_limit: int) -> tuple[int, list[Entry]]:
        lose()  # the lease ran out
        load(PLACES[:3])
        return 0, [entry_of(PLACES[0])]

    fill(read)
    assert cached() == (down(*PLACES[:3]), True)


def test_a_lease_runs_out_by_itself_and_so_does_a_list(real_lifetimes: None) -> None:
    key = LIST.key(OWNER)

    def read(_limit: int) -> tuple[int, list[Entry]]:
        left = redis.call(lambda connection: connection.pttl(key))
        assert 0 < left <= LEASE_MS
        return 0, []

    fill(read)
    assert LEASE_MS < redis.call(lambda connection: connection.pttl(key)) <= LIST.ttl_ms
    redis.call(lambda connection: connection.pexpire(key, 20_000))
    add(PLACES[1])
    assert redis.call(lambda connection: connection.pttl(key)) <= 20_000


def test_without_redis_a_list_is_read_and_writers_get_an_error(dead_redis: Any) -> None:
    with dead_redis():
        assert load(PLACES[:3]).positions() == down(*PLACES[:3])
        assert ask() is None
        with pytest.raises(redis.RedisDown):
            add(PLACES[1])
        with pytest.raises(redis.RedisDown):
            LIST.remove([OWNER], member_of(PLACES[1].id))
    assert cached() is None


# --- any history --------------------------------------------------------------------------------
class ListMachine(RuleBasedStateMachine):
    """One table, one cached list; commits, tellings, reads and fills come in any order.

    A writer commits first and updates the cache later. A post that is committed and added must be
    in the list within its range; a post in the list must have been committed, and not be removed
    unless it was added after that.
    """

    place = st.sampled_from(PLACES)

    def __init__(self) -> None:
        super().__init__()
        redis.call(lambda connection: connection.flushdb())
        self.table: set[Position] = set()
        self.generation = 0
        self.unsent: list[tuple[str, Position]] = []
        self.may_stay: set[Position] = set()
        self.fills: list[tuple[Lease, Run]] = []

    @initialize(table=st.sets(place, max_size=12))
    def begin(self, table: set[Position]) -> None:
        self.table |= table
        self.load_at_once()

    @rule(place=place, now=st.booleans())
    def publish(self, place: Position, now: bool) -> None:
        if place not in self.table | self.may_stay:  # an id is never used again
            self.table.add(place)
            self.write("add", place, now)

    @rule(data=st.data(), now=st.booleans())
    def delete(self, data: st.DataObject, now: bool) -> None:
        if self.table:
            place = data.draw(st.sampled_from(sorted(self.table)))
            self.table.remove(place)
            self.may_stay.add(place)
            self.write("remove", place, now)

    def write(self, what: str, place: Position, now: bool) -> None:
        self.unsent.append((what, place))
        if now:
            self.send(-1)

    def send(self, number: int) -> None:
        what, place = self.unsent.pop(number)
        if what == "add":
            add(place)
        else:
            LIST.remove([OWNER], member_of(place.id))
            if ("add", place) not in self.unsent:
                # A fill that read before is refused, so nothing can bring it back.
                self.may_stay.discard(place)

    @rule(data=st.data())
    def send_late(self, data: st.DataObject) -> None:
        if self.unsent:
            self.send(data.draw(st.integers(0, len(self.unsent) - 1)))

    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        """The event of the change sends an update again, but not for deleted posts."""
        if self.table:
            place = data.draw(st.sampled_from(sorted(self.table)))
            if ("add", place) not in self.unsent:
                add(place)

    @rule(data=st.data())
    def trim(self, data: st.DataObject) -> None:
        """Rows are deleted with a new generation, without an update of the cached list."""
        floor = data.draw(st.integers(0, 5))
        gone = {place for place in self.table if place.ts_ms <= floor}
        self.table -= gone
        self.may_stay -= gone
        self.unsent = [one for one in self.unsent if one[1] not in gone]
        self.generation += 1

    @rule()
    def load_at_once(self) -> None:
        run = load(sorted(self.table), self.generation)
        assert run.positions() == down(*self.table)[: timeline.CAP + 1]
        assert run.ends == (len(self.table) <= timeline.CAP)

    @rule(is_lost=st.booleans())
    def begin_a_fill(self, is_lost: bool) -> None:
        if is_lost:
            lose()
        lease = lease_at_once(LIST.key(OWNER))
        if lease.acquired:
            places = down(*self.table)[: timeline.CAP + 1]
            ends = len(self.table) <= timeline.CAP
            run = Run([entry_of(one) for one in places], ends, self.generation)
            self.fills.append((lease, run))

    @rule(data=st.data())
    def fill(self, data: st.DataObject) -> None:
        if self.fills:
            lease, run = self.fills.pop(data.draw(st.integers(0, len(self.fills) - 1)))
            LIST._fill(OWNER, lease, run)

    @rule()
    def evict(self) -> None:
        lose()

    @rule()
    def invalidate(self) -> None:
        LIST.invalidate([OWNER])

    @invariant()
    def every_read_is_right(self) -> None:
        certain = self.table - {place for what, place in self.unsent if what == "add"}
        cursors: list[Position | None] = [None, PLACES[5], PLACES[18], Position(7, 0)]
        for cursor, want in itertools.product(cursors, [2, 100]):
            run = ask(cursor, want)
            if run is None:
                return
            assert run.generation <= self.generation
            if run.generation < self.generation:
                return  # readers do not use it
            found = run.positions()
            assert found == down(*set(found))
            assert set(found) <= self.table | self.may_stay
            assert len(found) <= want
            below = {place for place in certain if cursor is None or place < cursor}
            if not run.ends:
                # Below its last entry it says nothing.
                below = {place for place in below if found and place >= found[-1]}
            assert below <= set(found)

    @invariant()
    def its_form_is_right(self) -> None:
        if ask() is None:
            return
        (high, top), *between, (low, bottom) = raw()
        assert (low in (END, MORE), bottom, high) == (True, BOTTOM, TOP)
        assert top <= ABOVE
        assert low == END or between
        assert len(between) <= timeline.CAP + timeline.SLACK


@pytest.fixture
def tiny_lists() -> Iterator[None]:
    with (
        mock.patch.multiple(timeline, CAP=5, SLACK=3),
        mock.patch.object(timeline, "_old_ms", return_value=4),
    ):
        yield


@pytest.mark.usefixtures("tiny_lists")
@pytest.mark.parametrize("size", [2, 5])  # never more than CAP
def test_no_history_makes_a_cached_list_wrong(size: int, settings: LazySettings) -> None:
    settings.MAX_CACHED_POST_SIZE = size
    run_state_machine_as_test(ListMachine, settings=LIVES)


LIVES = settings(
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
