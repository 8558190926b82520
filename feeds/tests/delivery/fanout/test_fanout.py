"""The durable fan-out: the plan, chunks under a lease, the sweep."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import live_hints
from accounts.models import User
from feeds import actions, queries, tasks, tiers
from feeds.delivery.fanout import deliver, plan, sweep
from feeds.delivery.inbox import sync
from feeds.models import FanOut, FanOutChunk, InboxEntry, Mode, Post
from feeds.tests.exactness.oracle import assert_exact
from feeds.tests.home.reads import at_a_read_of
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import db, redis
from socialsite.core.events import enqueue, relay
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event
from socialsite.tests.support import locks

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]


class Killed(Exception):
    """Simulates the death of a worker."""


@pytest.fixture
def fans(author: User, make_user: Make, drain: Make) -> list[User]:
    """Five followers whose backfills are done, by id ascending."""
    found = [make_user() for _ in range(5)]
    for fan in found:
        relations_actions.follow(fan, author)
    drain()
    return found


def receivers(post: Post) -> list[int]:
    rows = InboxEntry.objects.filter(post=post, publish_time=post.position, author=post.author_id)
    return sorted(rows.values_list("user_id", flat=True))


def ids(people: list[User]) -> list[int]:
    return sorted(person.pk for person in people)


def ranges(post: Post) -> list[tuple[int, int]]:
    rows = FanOutChunk.objects.filter(fanout_id=post.pk).order_by("number")
    return list(rows.values_list("lower", "upper"))


def state(post: Post) -> int:
    return FanOut.objects.get(pk=post.pk).state


def planned(author: User) -> tuple[Post, list[int]]:
    """Publish and write the plan without delivering."""
    post = actions.publish(author, content="hello")
    plan.write(post.pk)
    return post, plan.open_chunks(post.pk)


def at_point(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Call something once, when a fan-out reaches a failpoint."""
    waiting = [act]

    def hit(reached: str) -> None:
        if reached == name and waiting:
            waiting.pop()()

    monkeypatch.setattr(deliver, "failpoint", hit)


def die() -> None:
    raise Killed


# --- the plan -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("size", "chunks"), [(1, 5), (2, 3), (3, 2), (4, 2), (5, 1), (6, 1), (1000, 1)]
)
def test_the_ranges_of_a_plan_cover_all_ids_whatever_the_size_of_a_chunk(
    author: User, fans: list[User], settings: LazySettings, size: int, chunks: int
) -> None:
    settings.FANOUT_CHUNK = size
    post, _ = planned(author)
    found = ranges(post)
    assert len(found) == chunks == FanOut.objects.get(pk=post.pk).total
    assert [found[0][0], found[-1][1]] == [0, MAX_ID]
    assert [lower for lower, _ in found[1:]] == [upper for _, upper in found[:-1]]
    inside = [sum(lower < fan.pk <= upper for fan in fans) for lower, upper in found]
    assert sum(inside) == 5
    assert min(inside) >= 1
    assert max(inside) <= size
    assert state(post) == FanOut.State.RUNNING
    while sweep.run():
        pass
    assert receivers(post) == ids(fans)
    assert state(post) == FanOut.State.DONE


def test_a_range_has_its_upper_end_and_not_its_lower_one(author: User, fans: list[User]) -> None:
    first, second, third, *_ = ids(fans)
    assert list(tiers.recipients(author.pk, first, third, Mode.ALL)) == [second, third]


def test_a_plan_without_followers_is_done_at_once(author: User) -> None:
    post, chunks = planned(author)
    assert chunks == []
    assert FanOut.objects.get(pk=post.pk).total == 0
    assert state(post) == FanOut.State.DONE


def test_a_plan_is_written_once(
    author: User, fans: list[User], make_user: Make, settings: LazySettings
) -> None:
    settings.FANOUT_CHUNK = 2
    post, _ = planned(author)
    before = ranges(post)
    relations_actions.follow(make_user(), author)
    settings.FANOUT_CHUNK = 1
    plan.write(post.pk)
    assert ranges(post) == before
    while sweep.run():
        pass
    plan.write(post.pk)
    assert plan.open_chunks(post.pk) == []
    assert state(post) == FanOut.State.DONE


def test_there_is_no_plan_for_a_post_that_is_not_pushed(
    author: User, fans: list[User], settings: LazySettings, drain: Make
) -> None:
    settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0
    post, chunks = planned(author)
    drain()
    assert (post.mode, chunks, receivers(post)) == (Mode.NONE, [], [])
    assert not FanOut.objects.filter(pk=post.pk).exists()
    assert_exact(fans[0])


# --- followers come and go ----------------------------------------------------------------------
def test_followers_with_smaller_ids_who_join_in_between_move_nobody_out(
    make_user: Make, drain: Make, settings: LazySettings
) -> None:
    """T28: a plan that reads or counts the list again would skip some of `old`."""
    settings.FANOUT_CHUNK = 2
    author = make_user()
    new, old = [make_user() for _ in range(5)], [make_user() for _ in range(5)]
    for person in old:
        relations_actions.follow(person, author)
    drain()
    post, (first, second, third) = planned(author)
    assert deliver.run_chunk(second)
    for person in new:
        relations_actions.follow(person, author)
    plan.write(post.pk)
    assert deliver.run_chunk(third)
    assert deliver.run_chunk(first)
    assert receivers(post) == ids(old + new)
    assert state(post) == FanOut.State.DONE
    for person in old + new:
        assert_exact(person)
    drain()
    assert receivers(post) == ids(old + new)


def test_followers_who_left_before_a_chunk_ran_get_no_row(
    author: User, fans: list[User], settings: LazySettings
) -> None:
    settings.FANOUT_CHUNK = 2
    post, chunks = planned(author)
    # The first follower, and the bound of a range.
    relations_actions.unfollow(fans[0], author)
    relations_actions.unfollow(fans[2], author)
    for chunk in chunks:
        assert deliver.run_chunk(chunk)
    assert receivers(post) == ids([fans[1], fans[3], fans[4]])


def test_a_plan_written_late_reaches_everybody_who_follows_then(
    author: User, fans: list[User], make_user: Make, settings: LazySettings, drain: Make
) -> None:
    settings.FANOUT_CHUNK = 2
    post = actions.publish(author, content="hello")
    relations_actions.unfollow(fans[4], author)
    joined = make_user()
    relations_actions.follow(joined, author)
    drain()
    assert receivers(post) == ids([*fans[:4], joined])


# --- chunks -------------------------------------------------------------------------------------
def test_a_chunk_that_runs_twice_inserts_once(author: User, fans: list[User]) -> None:
    post, (chunk,) = planned(author)
    assert deliver.run_chunk(chunk)
    assert not deliver.run_chunk(chunk)
    FanOutChunk.objects.update(leased_until=0)  # as with a late message
    assert not deliver.run_chunk(chunk)
    assert not deliver.run_chunk(chunk + 1)
    assert receivers(post) == ids(fans)


@pytest.mark.parametrize("point", ["chunk-leased", "chunk-inserted"])
def test_a_chunk_whose_worker_died_before_its_commit_is_free_at_once(
    author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    post, (chunk,) = planned(author)
    at_point(monkeypatch, point, die)
    with pytest.raises(Killed):
        deliver.run_chunk(chunk)
    assert receivers(post) == []
    assert sweep.run() > 0
    assert receivers(post) == ids(fans)
    assert state(post) == FanOut.State.DONE


@pytest.mark.parametrize("point", ["chunk-delivered", "chunk-cached"])
def test_a_chunk_left_by_a_dead_worker_is_taken_over_when_its_lease_ends(
    author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    post, (chunk,) = planned(author)
    at_point(monkeypatch, point, die)
    with pytest.raises(Killed):
        deliver.run_chunk(chunk)
    assert receivers(post) == ids(fans)
    assert not deliver.run_chunk(chunk)
    assert sweep.run() == 0
    assert state(post) == FanOut.State.RUNNING
    assert_exact(fans[0])
    later = db.now_ms() + deliver.LEASE_MS + 1
    monkeypatch.setattr(db, "now_ms", lambda: later)
    assert sweep.run() > 0
    assert receivers(post) == ids(fans)
    assert state(post) == FanOut.State.DONE
    assert sweep.run() == 0


def test_a_worker_without_the_lease_writes_nothing(author: User, fans: list[User]) -> None:
    post, (chunk,) = planned(author)
    FanOutChunk.objects.filter(pk=chunk).update(lease=1, leased_until=db.now_ms() + 60_000)
    assert not deliver.run_chunk(chunk)
    assert receivers(post) == []
    row = FanOutChunk.objects.get(pk=chunk)
    assert (row.done, row.lease) == (False, 1)


def test_a_slow_worker_does_not_close_the_chunk_of_the_next(
    author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    post, (chunk,) = planned(author)

    def take_by_another_worker() -> None:
        FanOutChunk.objects.filter(pk=chunk).update(lease=1)

    at_point(monkeypatch, "chunk-delivered", take_by_another_worker)
    deliver.run_chunk(chunk)
    assert plan.open_chunks(post.pk) == [chunk]
    assert state(post) == FanOut.State.RUNNING


def test_the_fan_out_is_open_until_its_last_chunk_is_done(
    author: User, fans: list[User], settings: LazySettings
) -> None:
    settings.FANOUT_CHUNK = 2
    post, chunks = planned(author)
    for number, chunk in enumerate(chunks, start=1):
        assert state(post) == FanOut.State.RUNNING
        assert len(plan.open_chunks(post.pk)) == 4 - number
        assert deliver.run_chunk(chunk)
        for fan in fans:
            assert_exact(fan)
    assert state(post) == FanOut.State.DONE


def test_a_deleted_post_is_not_delivered(
    author: User, fans: list[User], settings: LazySettings, drain: Make
) -> None:
    settings.FANOUT_CHUNK = 2
    post, (first, second, third) = planned(author)
    assert deliver.run_chunk(first)
    actions.delete(author, post.pk)
    assert deliver.run_chunk(second)
    assert receivers(post) == ids(fans[:2])
    assert deliver.run_chunk(third)
    assert state(post) == FanOut.State.DONE
    drain()
    assert receivers(post) == []


@pytest.mark.parametrize("lost", ["fanouts*", "inbox*", "reader:*", "*"])
@pytest.mark.parametrize("is_after", [True, False])
def test_a_delivery_that_ends_while_a_page_is_read_loses_nothing(
    author: User, fans: list[User], lost: str, is_after: bool
) -> None:
    """Decision 1: the record that the inbox has a post is read before the inbox, or with it."""
    fan = fans[0]
    queries.home_feed(fan, None, 10)
    post, _ = planned(author)
    redis.call(lambda connection: connection.delete(*connection.keys(lost)))
    with at_a_read_of("SELECT", sweep.run, after=is_after):
        assert [c["id"] for c in queries.home_feed(fan, None, 10).items] == [str(post.pk)]
    assert state(post) == FanOut.State.DONE


# --- active followers ---------------------------------------------------------------------------
def test_only_active_followers_are_pushed_to_and_all_see_the_post(
    author: User, fans: list[User], settings: LazySettings
) -> None:
    settings.PUSH_ALL_MAX, settings.FANOUT_CHUNK = 2, 2
    long_ago = timezone.now() - timedelta(days=settings.ACTIVE_DAYS, minutes=1)
    just = timezone.now() - timedelta(days=settings.ACTIVE_DAYS, minutes=-1)
    User.objects.filter(pk__in=[fans[0].pk, fans[3].pk]).update(last_seen=long_ago)
    User.objects.filter(pk=fans[1].pk).update(last_seen=just)
    post, _ = planned(author)
    assert post.mode == Mode.ACTIVE
    while sweep.run():
        pass
    assert receivers(post) == ids([fans[1], fans[2], fans[4]])
    assert state(post) == FanOut.State.DONE
    for fan in fans:
        assert [c["id"] for c in queries.home_feed(fan, None, 10).items] == [str(post.pk)]


# --- hints --------------------------------------------------------------------------------------
@pytest.fixture
def hinted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of those who got a live hint, in order."""
    found: list[int] = []
    monkeypatch.setattr(live_hints, "push", lambda people, message: found.extend(people))
    return found


def come_online(*people: User) -> None:
    batch = redis.Batch()
    for person in people:
        live_hints.heartbeat(batch, person.pk)
    batch.run()


def test_connected_followers_get_one_hint_of_a_post_despite_repeats(
    author: User,
    fans: list[User],
    make_user: Make,
    hinted: list[int],
    settings: LazySettings,
    drain: Make,
) -> None:
    settings.FANOUT_CHUNK = 2
    come_online(author, make_user(), *fans[:4])
    post = actions.publish(author, content="hello")
    drain()
    assert sorted(hinted) == ids(fans[:4])
    FanOutChunk.objects.filter(fanout_id=post.pk).update(done=False, leased_until=0)
    FanOut.objects.filter(pk=post.pk).update(state=FanOut.State.RUNNING)
    drain()
    assert len(hinted) == 4


@pytest.mark.parametrize("mode", [Mode.ALL, Mode.NONE])
def test_a_post_from_the_past_is_no_news(
    author: User,
    fans: list[User],
    hinted: list[int],
    drain: Make,
    settings: LazySettings,
    mode: int,
) -> None:
    """It is published with `at_ms`, such as those of the demo."""
    if mode == Mode.NONE:
        settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0
    come_online(*fans)
    old = actions.publish(author, content="old", at_ms=db.now_ms() - 2 * 3_600_000)
    assert old.mode == mode
    drain()
    assert hinted == []
    actions.publish(author, content="new")
    drain()
    assert sorted(hinted) == ids(fans)


def test_readers_with_a_backfilled_post_get_no_hint(
    author: User, fans: list[User], make_user: Make, hinted: list[int], drain: Make
) -> None:
    """T29: only rows that were really inserted cause a hint."""
    post, (chunk,) = planned(author)
    joined = make_user()
    relations_actions.follow(joined, author)
    sync.sync_inbox(joined.pk, author.pk)
    come_online(joined, fans[0])
    assert deliver.run_chunk(chunk)
    assert hinted == [fans[0].pk]
    assert receivers(post) == ids([*fans, joined])


def test_an_uncommitted_or_resumed_chunk_sends_no_hint(
    author: User, fans: list[User], hinted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (chunk,) = planned(author)
    come_online(*fans)
    at_point(monkeypatch, "chunk-inserted", die)
    with pytest.raises(Killed):
        deliver.run_chunk(chunk)
    assert hinted == []
    FanOutChunk.objects.update(leased_until=0)
    assert deliver.run_chunk(chunk)
    assert sorted(hinted) == ids(fans)


def test_readers_of_unknown_presence_get_one_hint(
    author: User, fans: list[User], hinted: list[int], dead_redis: Make
) -> None:
    _, (chunk,) = planned(author)
    with dead_redis():
        deliver.run_chunk(chunk)
    assert sorted(hinted) == ids(fans)
    FanOutChunk.objects.update(leased_until=0)
    come_online(*fans)
    assert deliver.run_chunk(chunk)
    assert len(hinted) == len(fans)


@pytest.mark.parametrize("mode", [Mode.ACTIVE, Mode.NONE])
def test_connected_followers_without_a_row_get_a_hint_at_once(
    author: User,
    fans: list[User],
    hinted: list[int],
    settings: LazySettings,
    drain: Make,
    mode: Mode,
) -> None:
    settings.PUSH_ALL_MAX = 0
    settings.PUSH_ACTIVE_MAX = 100 if mode == Mode.ACTIVE else 0
    long_ago = timezone.now() - timedelta(days=settings.ACTIVE_DAYS, minutes=1)
    User.objects.filter(pk=fans[0].pk).update(last_seen=long_ago)
    come_online(*fans[:3])
    post = actions.publish(author, content="hello")
    while relay.relay():
        pass
    assert sorted(hinted) == ids(fans[:1] if mode == Mode.ACTIVE else fans[:3])
    drain()
    assert sorted(hinted) == ids(fans[:3])
    assert post.mode == mode


def test_a_chunk_without_hints_costs_no_query(
    author: User, fans: list[User], settings: LazySettings
) -> None:
    settings.INBOX_MAX = 10**6  # no inbox is sampled for trimming by chance
    _, (chunk,) = planned(author)
    with CaptureQueriesContext(connection) as before:
        deliver.run_chunk(chunk)
    come_online(fans[0])
    _, (chunk,) = planned(author)
    with CaptureQueriesContext(connection) as after:
        deliver.run_chunk(chunk)
    assert len(after) == len(before) + 3  # the chunk, its followers, those with the row


# --- the sweep ----------------------------------------------------------------------------------
def test_the_sweeper_closes_plans_whose_last_worker_died_before_it_could(
    author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    post, (chunk,) = planned(author)
    at_point(monkeypatch, "chunk-done", die)
    with pytest.raises(Killed):
        deliver.run_chunk(chunk)
    assert state(post) == FanOut.State.RUNNING
    assert_exact(fans[0])
    assert sweep.run() > 0
    assert state(post) == FanOut.State.DONE
    assert sweep.run() == 0


def test_the_sweeper_leaves_a_fan_out_alone_that_has_no_plan_yet(
    author: User, fans: list[User], drain: Make
) -> None:
    post = actions.publish(author, content="hello")
    assert sweep.run() == 0
    assert state(post) == FanOut.State.NEW
    drain()
    assert receivers(post) == ids(fans)


def test_finished_deliveries_are_purged_after_a_week_and_open_ones_never(
    author: User, fans: list[User], drain: Make
) -> None:
    long_ago = db.now_ms() - sweep.KEEP_MS - 1000
    actions.publish(author, content="old and delivered", at_ms=long_ago)
    new = actions.publish(author, content="new and delivered")
    drain()
    still_open = actions.publish(author, content="old and open", at_ms=long_ago)
    plan.write(still_open.pk)
    assert sweep.purge() == 1
    assert set(FanOut.objects.values_list("pk", flat=True)) == {new.pk, still_open.pk}
    assert set(FanOutChunk.objects.values_list("fanout_id", flat=True)) == {new.pk, still_open.pk}
    assert sweep.purge() == 0
    for fan in fans:
        assert_exact(fan)


def test_the_sweeper_takes_no_more_than_its_limit_and_the_oldest_first(
    author: User, fans: list[User], settings: LazySettings
) -> None:
    settings.FANOUT_CHUNK = 1
    post, chunks = planned(author)
    sweep.run(2)
    assert plan.open_chunks(post.pk) == chunks[2:]
    assert receivers(post) == ids(fans[:2])


def test_a_post_whose_delivery_fails_does_not_stop_the_sweeper(
    author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, chunk), (second, _) = planned(author), planned(author)
    real = deliver._deliver

    def fail_once(chunk_id: int, *args: Any) -> Any:
        if chunk_id == chunk[0]:
            raise ValueError("a mistake of ours")
        return real(chunk_id, *args)

    monkeypatch.setattr(deliver, "_deliver", fail_once)
    assert sweep.run() == 1
    assert (receivers(first), receivers(second)) == ([], ids(fans))
    monkeypatch.undo()
    assert sweep.run() == 1
    assert receivers(first) == ids(fans)


def test_a_post_whose_rows_stay_locked_does_not_stop_the_sweeper(
    author: User, fans: list[User], settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FANOUT_CHUNK = 3
    stuck, chunks = planned(author)
    later, _ = planned(author)
    tried: list[int] = []
    alive = deliver._alive.statement

    def statement(post_id: int) -> db.Statement:
        if post_id == stuck.pk:
            tried.append(post_id)
            raise OperationalError(1205, "Lock wait timeout exceeded; try restarting transaction")
        return alive(post_id)

    with monkeypatch.context() as locked:
        locked.setattr(deliver._alive, "statement", statement)
        locked.setattr(db, "ATTEMPTS", 2)
        assert sweep.run() == 2
    assert state(later) == FanOut.State.DONE
    # Its other chunks would wait as long for the same lock.
    assert (len(tried), plan.open_chunks(stuck.pk)) == (2, chunks)
    assert sweep.run() == 2
    assert receivers(stuck) == ids(fans)


@pytest.mark.parametrize(
    ("chunk", "most", "sizes"),
    [(1, 4, [3, 2]), (1, 2, [2, 2, 1]), (3, 4, [1, 1]), (5, 4, [1])],
)
def test_a_message_is_for_a_few_chunks_and_a_post_for_two_workers(
    author: User,
    fans: list[User],
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
    most: int,
    sizes: list[int],
) -> None:
    settings.FANOUT_CHUNK = chunk
    monkeypatch.setattr(plan, "CHUNKS_A_MESSAGE", most)
    post, chunks = planned(author)
    rung: list[Any] = []
    monkeypatch.setattr(enqueue, "send", lambda *words: rung.append(words))
    plan.enqueue_chunks(post.pk)
    assert [len(some) for _task, _post, some in rung] == sizes
    assert [one for _task, _post, some in rung for one in some] == chunks
    for task, *args in rung:
        assert task == tasks.run_chunks.name
        tasks.run_chunks(*args)
    assert (receivers(post), state(post)) == (ids(fans), FanOut.State.DONE)
    plan.enqueue_chunks(post.pk)
    assert len(rung) == len(sizes)


def test_a_failing_chunk_does_not_stop_the_others_of_its_message(
    author: User, fans: list[User], settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FANOUT_CHUNK = 2
    post, chunks = planned(author)
    real = deliver._deliver

    def fail(chunk_id: int, *args: Any) -> Any:
        if chunk_id == chunks[0]:
            raise ValueError("a mistake of ours")
        return real(chunk_id, *args)

    with monkeypatch.context() as failing:
        failing.setattr(deliver, "_deliver", fail)
        tasks.run_chunks(post.pk, chunks)
    assert plan.open_chunks(post.pk) == chunks[:1]
    assert sweep.run() == 1
    assert receivers(post) == ids(fans)


# --- real threads -------------------------------------------------------------------------------
full = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers"),
]


class TestAtOnce:
    """The same work in two workers at the same moment."""

    pytestmark = full

    @pytest.mark.parametrize("lease_ms", [deliver.LEASE_MS, -1], ids=["held", "over at once"])
    def test_two_workers_deliver_the_same_chunk_exactly_once(
        self,
        author: User,
        fans: list[User],
        settings: LazySettings,
        monkeypatch: pytest.MonkeyPatch,
        lease_ms: int,
    ) -> None:
        settings.FANOUT_CHUNK = 3
        monkeypatch.setattr(deliver, "LEASE_MS", lease_ms)
        for _ in range(5):
            post, chunks = planned(author)
            for chunk in chunks:
                ran = at_once([lambda chunk=chunk: deliver.run_chunk(chunk)] * 2)
                assert sorted(ran) == [False, True] if lease_ms > 0 else True in ran
                assert not [result for result in ran if not isinstance(result, bool)]
            assert receivers(post) == ids(fans)
            assert state(post) == FanOut.State.DONE

    def test_workers_that_finish_the_last_chunks_at_once_close_the_plan(
        self, author: User, fans: list[User], settings: LazySettings
    ) -> None:
        settings.FANOUT_CHUNK = 2
        for _ in range(5):
            post, chunks = planned(author)
            ran = at_once([lambda chunk=chunk: deliver.run_chunk(chunk) for chunk in chunks])
            assert ran == [True] * 3
            assert state(post) == FanOut.State.DONE
            assert receivers(post) == ids(fans)

    def test_a_second_worker_does_not_wait_for_a_chunk_in_delivery(
        self, author: User, fans: list[User], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        post, (chunk,) = planned(author)
        inserted, gone = threading.Event(), threading.Event()

        def hold_on() -> None:
            inserted.set()
            assert gone.wait(60)

        def too_late() -> bool:
            assert inserted.wait(60)
            ran = deliver.run_chunk(chunk)
            gone.set()
            return ran

        at_point(monkeypatch, "chunk-inserted", hold_on)
        assert at_once([lambda: deliver.run_chunk(chunk), too_late]) == [True, False]
        assert receivers(post) == ids(fans)

    def test_two_workers_write_one_plan(
        self, author: User, fans: list[User], settings: LazySettings
    ) -> None:
        settings.FANOUT_CHUNK = 2
        post = actions.publish(author, content="hello")
        assert at_once([lambda: plan.write(post.pk)] * 3) == [None] * 3
        assert len(plan.open_chunks(post.pk)) == 3

    @pytest.mark.parametrize("write", ["delete", "unfollow"])
    def test_deleting_a_post_waits_for_a_running_chunk_and_cleans_up_after_it(
        self,
        author: User,
        fans: list[User],
        drain: Make,
        monkeypatch: pytest.MonkeyPatch,
        write: str,
    ) -> None:
        with enqueue.paused():
            post, (chunk,) = planned(author)
            inserted, written = threading.Event(), threading.Event()

            def hold_on() -> None:
                inserted.set()
                assert locks.waits_or(written.is_set)

            at_point(monkeypatch, "chunk-inserted", hold_on)

            def take_away() -> None:
                assert inserted.wait(60)
                with enqueue.paused():
                    if write == "delete":
                        actions.delete(author, post.pk)
                    else:
                        relations_actions.unfollow(fans[0], author)
                written.set()

            assert at_once([lambda: deliver.run_chunk(chunk), take_away]) == [True, None]
            assert receivers(post) == ids(fans)
            drain()
        assert receivers(post) == ([] if write == "delete" else ids(fans[1:]))
        assert not Event.objects.exists()
