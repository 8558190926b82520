"""Cached lists: their content, every way to lose them, races, and correct pages."""

import contextlib
import itertools
import random
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relations import actions, cache, queries, states, subscribers
from relations.models import RelationCount, Relationship
from relations.states import Action
from relations.tests.helpers import at_once
from socialsite.core import redis, relay
from socialsite.core.errors import Blacklisted
from socialsite.core.events import DomainEvent
from socialsite.core.models import Event
from socialsite.core.pagination import Position

KINDS: list[cache.Kind] = ["followers", "following"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def everyone_is_big(monkeypatch):
    """Cache every list whose first page is full, with at most five members."""
    monkeypatch.setattr(cache, "BIG_FROM", 0)
    monkeypatch.setattr(cache, "CAP", 5)


@pytest.fixture
def star(make_user, monkeypatch):
    """Create a person with followers: star(3) gets follows at the times 10, 20, 30."""

    def make(count: int):
        hub = make_user()
        others = [make_user() for _ in range(count)]
        for number, other in enumerate(others, start=1):
            at(monkeypatch, 10 * number)
            actions.follow(other, hub)
        drain()
        return hub, others

    return make


def at(monkeypatch, now: int) -> None:
    """Set the clock of the actions (ms)."""
    monkeypatch.setattr("socialsite.core.db.now_ms", lambda: now)


def drain() -> None:
    while relay.relay():
        pass


def table(kind: cache.Kind, owner: int) -> list[Position]:
    """Return a list from the table."""
    rows = Relationship.objects.filter(from_user=owner).values_list(cache.TIME[kind], "to_user_id")
    return sorted((Position(*row) for row in rows if row[0] is not None), reverse=True)


def members(kind: cache.Kind, owner: int) -> list[Any] | None:
    """Return the list in Redis, newest first, with its end as None; None when there is no list."""
    found = redis.call(
        lambda connection: connection.zrevrange(cache._list(kind, owner), 0, -1, withscores=True)
    )
    return [
        None if name == b"0" else Position(int(score), int(name)) for name, score in found
    ] or None


def delete(*keys: str) -> None:
    redis.call(lambda connection: connection.delete(*keys))


def load(kind: cache.Kind, owner: int) -> None:
    """Fill the cache as a reader does."""
    lease = cache.page(kind, owner, None, 2).lease
    assert lease
    assert cache.fill(kind, owner, lease, table(kind, owner)[: cache.CAP + 1])


def ids(page) -> list[int]:
    return [int(person["id"]) for person in page.items]


def walk(kind: str, owner: int, size: int, viewer: int | None) -> list[int]:
    """Return all ids of a list, read page by page."""
    found: list[int] = []
    cursor = None
    while True:
        page = queries.LISTS[kind](owner, cursor, size, viewer)
        found += ids(page)
        if page.next is None:
            return found
        cursor = Position.decode(page.next)


# --- who is cached, what it costs ---------------------------------------------------------------
def test_lists_of_few_followers_are_not_cached_and_asked_about_once(
    star, django_assert_num_queries
) -> None:
    hub, _ = star(4)
    with django_assert_num_queries(3):  # rows and cards for a guest, and the count of followers
        queries.followers(hub.pk, None, 2)
    with django_assert_num_queries(1):  # the cards are cached by now
        queries.followers(hub.pk, None, 2)
    assert members("followers", hub.pk) is None


def test_a_list_is_cached_from_the_threshold_on(star, monkeypatch) -> None:
    hub, _ = star(4)
    monkeypatch.setattr(cache, "BIG_FROM", 5)
    queries.followers(hub.pk, None, 2)
    assert members("followers", hub.pk) is None
    delete(cache._lease("followers", hub.pk))
    monkeypatch.setattr(cache, "BIG_FROM", 4)
    queries.followers(hub.pk, None, 2)
    assert members("followers", hub.pk) == [*table("followers", hub.pk), None]


@pytest.mark.parametrize("size", [1, 3])
def test_a_cached_page_costs_one_query_and_two_round_trips(
    everyone_is_big, star, make_user, monkeypatch, django_assert_num_queries, size
) -> None:
    hub, _ = star(8)
    reader = make_user()
    first = queries.followers(hub.pk, None, size, reader.pk)
    trips = []
    real = redis.call
    monkeypatch.setattr(redis, "call", lambda function: trips.append(1) or real(function))
    with django_assert_num_queries(1):  # the reader's relations
        assert queries.followers(hub.pk, None, size, reader.pk) == first
    assert len(trips) == 2  # the list, the cards
    with django_assert_num_queries(0):
        queries.followers(hub.pk, None, size, None)
    assert len(trips) == 4


def test_an_event_about_people_who_are_not_cached_costs_one_round_trip(
    star, monkeypatch, django_assert_num_queries
) -> None:
    hub, others = star(2)
    trips = []
    real = redis.call
    monkeypatch.setattr(redis, "call", lambda function: trips.append(1) or real(function))
    with django_assert_num_queries(0):
        cache.sync([("followers", hub.pk, others[0].pk), ("following", others[0].pk, hub.pk)])
    assert len(trips) == 1


# --- what a list knows --------------------------------------------------------------------------
def test_nothing_is_added_to_a_list_that_is_not_there(star) -> None:
    hub, others = star(2)
    cache._add("followers", hub.pk, Position(99, others[0].pk))
    assert members("followers", hub.pk) is None


def test_a_follow_and_an_unfollow_change_the_cached_lists_by_event(
    everyone_is_big, star, make_user, monkeypatch
) -> None:
    hub, others = star(3)
    newcomer = make_user()
    load("followers", hub.pk)
    load("following", newcomer.pk)
    at(monkeypatch, 40)
    actions.follow(newcomer, hub)
    actions.unfollow(others[0], hub)
    assert members("followers", hub.pk) != [*table("followers", hub.pk), None]
    drain()
    assert members("followers", hub.pk) == [*table("followers", hub.pk), None]
    assert members("following", newcomer.pk) == [Position(40, hub.pk), None]


def test_a_block_takes_both_out_of_each_others_cached_lists(
    everyone_is_big, star, monkeypatch
) -> None:
    hub, others = star(3)
    at(monkeypatch, 50)
    actions.follow(hub, others[1])
    drain()
    pairs = [(kind, user) for kind in KINDS for user in (hub, others[1])]
    for kind, user in pairs:
        load(kind, user.pk)
    actions.block(others[1], hub)
    drain()
    for kind, user in pairs:
        assert members(kind, user.pk) == [*table(kind, user.pk), None]


def test_one_below_the_floor_drops_the_list(everyone_is_big, star, monkeypatch, make_user) -> None:
    hub, _ = star(7)  # the cap of 5 keeps the times 30 to 70
    load("followers", hub.pk)
    assert members("followers", hub.pk) == table("followers", hub.pk)[:5]
    early = make_user()
    at(monkeypatch, 25)
    actions.follow(early, hub)
    drain()
    assert members("followers", hub.pk) is None
    assert walk("followers", hub.pk, 2, None) == [row.id for row in table("followers", hub.pk)]


@pytest.mark.parametrize("time", [15, 30])
def test_a_hole_below_the_floor_never_looks_covered(
    everyone_is_big, star, monkeypatch, make_user, time
) -> None:
    """The list has room again, and a person is added below another who is missing in it."""
    early = make_user()
    hub, others = star(7)
    Relationship.objects.filter(from_user=hub, to_user=others[1]).update(fan_since=max(time, 20))
    load("followers", hub.pk)
    actions.unfollow(others[5], hub)
    drain()
    at(monkeypatch, time)
    actions.follow(early, hub)
    drain()
    rows = [row.id for row in table("followers", hub.pk)]
    assert rows.index(early.pk) > rows.index(others[1].pk)
    assert walk("followers", hub.pk, 2, None) == rows
    assert members("followers", hub.pk) in (None, table("followers", hub.pk)[:5])


def test_one_below_all_of_a_complete_list_is_added(
    everyone_is_big, star, monkeypatch, make_user
) -> None:
    hub, _ = star(2)
    load("followers", hub.pk)
    at(monkeypatch, 5)
    actions.follow(make_user(), hub)
    drain()
    assert members("followers", hub.pk) == [*table("followers", hub.pk), None]


@pytest.mark.parametrize("count", [5, 6])
def test_trimming_forgets_where_the_list_ends(everyone_is_big, star, make_user, count) -> None:
    hub, _ = star(count)
    load("followers", hub.pk)
    assert (members("followers", hub.pk)[-1] is None) == (count == 5)
    actions.follow(make_user(), hub)
    drain()
    assert members("followers", hub.pk) == table("followers", hub.pk)[:5]
    assert walk("followers", hub.pk, 2, None) == [row.id for row in table("followers", hub.pk)]


def test_an_emptied_list_stays_known_and_the_mark_is_never_a_person(everyone_is_big, star) -> None:
    hub, others = star(2)
    load("followers", hub.pk)
    for other in others:
        actions.unfollow(other, hub)
    drain()
    assert members("followers", hub.pk) == [None]
    assert cache.page("followers", hub.pk, None, 3) == cache.Found([])
    assert queries.followers(hub.pk, None, 2).items == []


def test_a_list_that_lost_all_it_knew_is_unknown_not_empty(everyone_is_big, star) -> None:
    hub, others = star(7)
    load("followers", hub.pk)
    for other in others[2:]:
        actions.unfollow(other, hub)
    drain()
    assert members("followers", hub.pk) is None
    assert walk("followers", hub.pk, 2, None) == [others[1].pk, others[0].pk]


def test_a_page_that_goes_below_the_floor_comes_from_the_table(everyone_is_big, star) -> None:
    hub, _ = star(7)
    load("followers", hub.pk)
    rows = table("followers", hub.pk)
    assert cache.page("followers", hub.pk, rows[1], 3).page == rows[2:5]
    assert cache.page("followers", hub.pk, rows[1], 4).page is None
    assert cache.page("followers", hub.pk, rows[6], 1).page is None


def test_people_of_the_same_moment_are_told_once_each(everyone_is_big, star) -> None:
    hub, _ = star(4)
    Relationship.objects.filter(from_user=hub).update(fan_since=7)
    load("followers", hub.pk)
    for size in (1, 2, 3):
        assert walk("followers", hub.pk, size, None) == [
            row.id for row in table("followers", hub.pk)
        ]
    assert members("followers", hub.pk) is not None


def test_short_ids_sort_as_numbers(everyone_is_big) -> None:
    rows = [Position(5, number) for number in (1000, 30, 4)]
    lease = cache.page("followers", 9, None, 2).lease
    assert cache.fill("followers", 9, lease, rows)
    assert cache.page("followers", 9, rows[0], 9).page == rows[1:]


# --- leases -------------------------------------------------------------------------------------
def test_one_reader_at_a_time_holds_the_lease_and_only_for_a_first_page(star) -> None:
    hub, _ = star(1)
    assert cache.page("followers", hub.pk, Position(9, 9), 2) == cache.Found(None)
    assert cache.page("followers", hub.pk, None, 2).lease
    assert cache.page("followers", hub.pk, None, 2) == cache.Found(None)


@pytest.mark.parametrize("write", ["follow", "unfollow"])
def test_a_write_between_the_read_and_the_fill_refuses_the_fill(
    everyone_is_big, star, make_user, write
) -> None:
    hub, others = star(2)
    lease = cache.page("followers", hub.pk, None, 2).lease
    old = table("followers", hub.pk)
    if write == "follow":
        actions.follow(make_user(), hub)
    else:
        actions.unfollow(others[0], hub)
    drain()
    assert not cache.fill("followers", hub.pk, lease, old)
    assert members("followers", hub.pk) is None


def test_a_fill_after_the_lease_ran_out_is_refused(everyone_is_big, star) -> None:
    hub, _ = star(2)
    late = cache.page("followers", hub.pk, None, 2).lease
    delete(cache._lease("followers", hub.pk))  # it expired
    fresh = cache.page("followers", hub.pk, None, 2).lease
    assert not cache.fill("followers", hub.pk, late, [])
    assert cache.fill("followers", hub.pk, fresh, table("followers", hub.pk))
    assert not cache.fill("followers", hub.pk, fresh, [])
    assert members("followers", hub.pk) == [*table("followers", hub.pk), None]


def test_a_slow_writer_cannot_bring_an_old_state_back(everyone_is_big, star, monkeypatch) -> None:
    """The writer read that a follows. Before it writes, a unfollows, and that event is handled."""
    hub, (other, *_) = star(2)
    load("followers", hub.pk)
    real = cache._time_of

    def slow(kind, owner, ident):
        found = real(kind, owner, ident)
        monkeypatch.setattr(cache, "_time_of", real)
        actions.unfollow(other, hub)
        drain()
        return found

    monkeypatch.setattr(cache, "_time_of", slow)
    cache.sync([("followers", hub.pk, other.pk)])
    assert members("followers", hub.pk) == [*table("followers", hub.pk), None]
    assert len(table("followers", hub.pk)) == 1


def test_a_pair_that_never_rests_drops_the_list(everyone_is_big, star, monkeypatch) -> None:
    hub, (other, *_) = star(2)
    load("followers", hub.pk)
    times = itertools.cycle([7, None])
    monkeypatch.setattr(cache, "_time_of", lambda *pair: next(times))
    cache.sync([("followers", hub.pk, other.pk)])
    assert members("followers", hub.pk) is None


# --- how long, and without Redis ----------------------------------------------------------------
def test_writes_do_not_make_a_list_live_longer(
    everyone_is_big, star, make_user, real_lifetimes
) -> None:
    """Otherwise a list that changes all the time could keep the effect of a lost event for ever."""
    hub, _ = star(2)
    load("followers", hub.pk)
    key = cache._list("followers", hub.pk)
    assert 0 < redis.call(lambda connection: connection.pttl(key)) <= cache.TTL_MS
    redis.call(lambda connection: connection.pexpire(key, 5_000))
    actions.follow(make_user(), hub)
    drain()
    assert 0 < redis.call(lambda connection: connection.pttl(key)) <= 5_000
    lease = cache._lease("following", hub.pk)
    cache.page("following", hub.pk, None, 2)
    assert 0 < redis.call(lambda connection: connection.pttl(lease)) <= cache.LEASE_MS


def test_without_redis_lists_come_from_the_table_and_events_are_done(
    everyone_is_big, star, make_user
) -> None:
    hub, _ = star(3)
    load("followers", hub.pk)
    redis.breaker.trip()
    newcomer = make_user()
    actions.follow(newcomer, hub)
    drain()
    assert not Event.objects.exists()
    assert walk("followers", hub.pk, 2, None) == [row.id for row in table("followers", hub.pk)]
    assert cache.page("followers", hub.pk, None, 2) == cache.Found(None)
    assert not cache.fill("followers", hub.pk, "x", [])
    cache.decline("followers", hub.pk)


# --- what a reader sees -------------------------------------------------------------------------
def test_a_readers_own_follow_and_unfollow_are_in_the_list_at_once(
    everyone_is_big, star, make_user, monkeypatch
) -> None:
    hub, others = star(7)
    reader = make_user()
    load("followers", hub.pk)
    for now in (35, 100):
        at(monkeypatch, now)
        actions.follow(reader, hub)
        expected = [row.id for row in table("followers", hub.pk)]
        for size in (1, 2, 3, 20):
            assert walk("followers", hub.pk, size, reader.pk) == expected
        actions.unfollow(reader, hub)
    assert members("followers", hub.pk) == table("followers", hub.pk)[:5]
    actions.unfollow(others[6], hub)
    for size in (1, 2, 20):
        assert others[6].pk not in walk("followers", hub.pk, size, others[6].pk)


def test_being_followed_by_the_owner_is_in_their_cached_list_at_once(
    everyone_is_big, make_user
) -> None:
    hub, first, second, reader = (make_user() for _ in range(4))
    actions.follow(hub, first)
    actions.follow(hub, second)
    drain()
    load("following", hub.pk)
    actions.follow(hub, reader)
    assert set(walk("following", hub.pk, 1, reader.pk)) == {reader.pk, first.pk, second.pk}


def test_the_owner_reads_the_table(everyone_is_big, star) -> None:
    hub, others = star(3)
    load("followers", hub.pk)
    actions.unfollow(others[0], hub)
    assert walk("followers", hub.pk, 2, hub.pk) == [others[2].pk, others[1].pk]


def test_the_relation_of_a_row_is_of_now_and_blocked_people_are_hidden(
    everyone_is_big, star, make_user
) -> None:
    hub, others = star(4)
    reader = make_user()
    load("followers", hub.pk)
    actions.follow(reader, others[0])
    actions.block(others[1], reader)
    actions.block(reader, others[2])
    type(hub).objects.filter(pk=others[3].pk).update(banned_at=timezone.now())
    items = queries.followers(hub.pk, None, 20, reader.pk).items
    assert [(int(item["id"]), item["relation"]) for item in items] == [(others[0].pk, "FOLLOWING")]


# --- any history --------------------------------------------------------------------------------
PEOPLE = 5
person = st.integers(0, PEOPLE - 1)
owner = st.sampled_from([0, 0, 0, 1])  # most actions concern the lists of one person
kinds = st.sampled_from(KINDS)
times = st.integers(1, 6)
STEPS = st.one_of(
    st.tuples(st.just("act"), person, owner, st.sampled_from(list(Action)), times),
    st.tuples(st.just("act"), owner, person, st.sampled_from(list(Action)), times),
    st.tuples(st.just("told"), person, owner, st.sampled_from(["follow", "unfollow"]), times),
    st.tuples(st.just("load"), kinds, owner),
    st.tuples(st.just("read"), kinds, owner, person, st.integers(1, 3)),
    st.tuples(st.just("deliver"), st.integers(0, 99)),
    st.tuples(st.just("again"), st.integers(0, 99)),
    st.tuples(st.just("late"), st.integers(0, 99), person, owner, st.sampled_from(list(Action))),
    st.tuples(st.just("lease"), kinds, owner),
    st.tuples(st.just("fill"), st.integers(0, 99)),
    st.tuples(st.sampled_from(["evict", "expire"]), kinds, owner),
    st.tuples(st.sampled_from(["flush", "drain"])),
)


class World:
    """People, the table, the cache, readers with a lease, pending and repeated events."""

    def __init__(self, people: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.people, self.monkeypatch = people, monkeypatch
        self.loads: list[tuple[cache.Kind, int, str, list[Position]]] = []
        self.events: list[DomainEvent] = []

    def act(self, one: int, two: int, action: str, now: int) -> None:
        if one == two:
            return
        at(self.monkeypatch, now)
        with contextlib.suppress(Blacklisted):
            getattr(actions, action)(self.people[one], self.people[two])

    def told(self, one: int, two: int, action: str, now: int) -> None:
        self.act(one, two, action, now)
        self.drain()

    def load(self, kind: cache.Kind, owner: int) -> None:
        self.lease(kind, owner)
        self.fill(-1)

    def waiting(self) -> list[Event]:
        return list(Event.objects.order_by("pk"))

    def deliver(self, number: int) -> None:
        """Deliver one of the pending events, in any order."""
        waiting = self.waiting()
        if waiting:
            event = waiting[number % len(waiting)]
            if event.type in ("FollowCreated", "FollowCanceled"):
                self.events.append(
                    relay.registry.event_types[event.type].from_payload(event.payload)
                )
            relay.deliver(event)

    def again(self, number: int) -> None:
        if self.events:
            subscribers.cached_lists(self.events[number % len(self.events)])

    def late(self, number: int, one: int, two: int, action: Action) -> None:
        """Repeat an event; between its read and its write another change happens."""
        real = cache._time_of

        def slow(*pair: Any) -> int | None:
            found = real(*pair)
            self.monkeypatch.setattr(cache, "_time_of", real)
            self.act(one, two, action, number % 12 + 1)
            self.deliver(number)
            return found

        self.monkeypatch.setattr(cache, "_time_of", slow)
        self.again(number)
        self.monkeypatch.setattr(cache, "_time_of", real)

    def lease(self, kind: cache.Kind, owner: int) -> None:
        """Let a reader take a lease and read the table; it fills later."""
        ident = self.people[owner].pk
        lease = cache.page(kind, ident, None, 2).lease
        if lease:
            self.loads.append((kind, ident, lease, table(kind, ident)[: cache.CAP + 1]))

    def fill(self, number: int) -> None:
        if self.loads:
            cache.fill(*self.loads.pop(number % len(self.loads)))

    def evict(self, kind: cache.Kind, owner: int) -> None:
        delete(cache._list(kind, self.people[owner].pk))

    def expire(self, kind: cache.Kind, owner: int) -> None:
        delete(cache._lease(kind, self.people[owner].pk))

    def flush(self) -> None:
        redis.call(lambda connection: connection.flushdb())

    def drain(self) -> None:
        while self.waiting():
            self.deliver(0)

    def read(self, kind: cache.Kind, owner: int, viewer: int, size: int) -> None:
        """A page shows no blocked person, nobody twice, and the reader's own follow correctly."""
        found = walk(kind, self.people[owner].pk, size, self.people[viewer].pk)
        assert len(found) == len(set(found))
        assert not set(found) & set(queries.blocked_ids(self.people[viewer].pk))
        reader = self.people[viewer].pk
        listed = {row.id for row in table(kind, self.people[owner].pk)}
        assert (reader in found) == (reader in listed)
        if viewer == owner:
            assert set(found) == listed

    def check(self) -> None:
        """After all events, cached lists equal the table down to their floor; pages are right."""
        for kind, user in itertools.product(KINDS, self.people[:2]):
            rows, known = table(kind, user.pk), members(kind, user.pk)
            if known is not None:
                ends = known[-1] is None
                assert known == ([*rows, None] if ends else rows[: len(known)])
                assert len(known) - ends <= cache.CAP
            for viewer in self.people[1:4]:
                relations = queries.relations_of(viewer.pk, [row.id for row in rows])
                shown = [row.id for row in rows if not states.blocked_either_way(relations[row.id])]
                for size in (2, 20):
                    assert walk(kind, user.pk, size, viewer.pk) == shown


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, min_size=5, max_size=30), cap=st.sampled_from([2, 1, 3, 5]))
def test_any_history_leaves_the_cached_lists_as_the_table_has_them(
    make_user: Any, steps: list[Any], cap: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(cache, "BIG_FROM", 0)
        monkeypatch.setattr(cache, "CAP", cap)
        world = World([make_user() for _ in range(PEOPLE)], monkeypatch)
        for other in range(1, PEOPLE):
            world.act(other, 0, "follow", 2 + other // 2)
        world.drain()
        for name, *arguments in steps:
            getattr(world, name)(*arguments)
        world.drain()
        while world.loads:
            world.fill(0)
        world.check()


# --- real threads -------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_readers_writers_and_relays_at_once_leave_the_lists_right(
    everyone_is_big, make_user
) -> None:
    hub, *fans = (make_user() for _ in range(9))
    guest = make_user()
    for fan in fans:
        actions.follow(fan, hub)
    drain()

    def write(number: int) -> None:
        dice = random.Random(number)
        for _ in range(60):
            getattr(actions, dice.choice(["follow", "unfollow"]))(fans[dice.randrange(8)], hub)

    def read() -> None:
        for _ in range(120):
            found = ids(queries.followers(hub.pk, None, 2, guest.pk))
            assert len(found) == len(set(found))

    def forget() -> None:
        for _ in range(30):
            delete(cache._list("followers", hub.pk))
            relay.relay(10)

    works: list[Any] = [lambda number=number: write(number) for number in range(3)]
    results = at_once([*works, read, read, forget, *[lambda: relay.relay(200)] * 2])
    assert [result for result in results if isinstance(result, Exception)] == []
    Event.objects.update(available_at=0)  # releases the leases of ended relays
    drain()
    known = members("followers", hub.pk)
    rows = table("followers", hub.pk)
    assert known is None or known == ([*rows, None] if known[-1] is None else rows[: len(known)])
    assert walk("followers", hub.pk, 2, guest.pk) == [row.id for row in rows]
    assert RelationCount.objects.get(pk=hub.pk).followers == len(rows)
