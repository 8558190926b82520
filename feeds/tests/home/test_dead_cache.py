"""A worker that cannot reach Redis in the middle of a delivery, while readers can."""

from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest

from accounts.models import User
from feeds import actions, cache
from feeds.delivery.fanout import deliver, plan, sweep
from feeds.models import FanOut, FanOutChunk, InboxEntry, InboxState, Post
from feeds.tests.exactness.oracle import assert_exact
from relations import actions as relations_actions
from socialsite.core import db, redis
from socialsite.core.cache.lease import LEASE_MS

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]


@pytest.fixture
def fans(author: User, make_user: Make, make_post: Make, drain: Make) -> list[User]:
    """Three followers with three posts in their inboxes, all of it cached."""
    found = [make_user() for _ in range(3)]
    for fan in found:
        relations_actions.follow(fan, author)
    for _ in range(3):
        make_post(author)
    drain()
    for fan in found:
        assert_exact(fan)
    return found


@pytest.fixture
def post(author: User, fans: list[User]) -> Post:
    """A post whose plan is written, and which the caches know."""
    found = actions.publish(author, content="hello")
    plan.write(found.pk)
    return found


def chunk(post: Post) -> FanOutChunk:
    return FanOutChunk.objects.get(fanout_id=post.pk)


def generations(people: list[User]) -> list[int]:
    rows = InboxState.objects.filter(viewer__in=people).order_by("viewer")
    return list(rows.values_list("generation", flat=True))


def wait_for_readers() -> None:
    """Let the minute pass for which readers may be cached."""
    for key in redis.call(lambda connection: connection.keys("reader:*")):
        redis.call(methodcaller("delete", key))
    FanOutChunk.objects.update(leased_until=0)


def test_a_chunk_that_could_not_update_caches_stays_open_and_invalidates_them(
    post: Post, fans: list[User], dead_redis: Make
) -> None:
    before = generations(fans)
    now = db.now_ms()
    with dead_redis():
        assert not deliver.run_chunk(chunk(post).pk)
    assert InboxEntry.objects.filter(post=post).count() == 3
    assert generations(fans) == [one + 1 for one in before]
    held = chunk(post)
    assert (held.done, held.uncached) == (False, True)
    # A reader may have been read before that, and cached as late as their lease allows.
    assert held.leased_until >= now + cache.READER_TTL_MS + LEASE_MS
    for fan in fans:
        assert_exact(fan)
    assert sweep.run() == 0
    assert FanOut.objects.get(pk=post.pk).state == FanOut.State.RUNNING


@pytest.mark.parametrize("is_dead_again", [True, False])
def test_once_no_reader_can_have_the_old_generation_the_chunk_is_done(
    post: Post, fans: list[User], dead_redis: Make, is_dead_again: bool
) -> None:
    """The second time without Redis invalidates nothing: cached entries are unusable already."""
    with dead_redis():
        deliver.run_chunk(chunk(post).pk)
    after = generations(fans)
    for fan in fans:
        assert_exact(fan)
    wait_for_readers()
    if is_dead_again:
        with dead_redis():
            assert deliver.run_chunk(chunk(post).pk)
    else:
        assert sweep.run() == 1
    assert generations(fans) == after
    assert FanOut.objects.get(pk=post.pk).state == FanOut.State.DONE
    redis.call(lambda connection: connection.delete("fanouts2:0"))
    for fan in fans:
        assert_exact(fan)


def test_readers_who_are_cached_with_the_old_generation_still_pull_the_post(
    post: Post, fans: list[User], dead_redis: Make, drain: Make
) -> None:
    """Their cached inbox lacks the post, but is valid for them."""
    with dead_redis():
        deliver.run_chunk(chunk(post).pk)
    redis.call(lambda connection: connection.delete("fanouts2:0"))
    drain()
    for fan in fans:
        assert_exact(fan)
        assert_exact(fan, 2)


def test_a_worker_that_lost_the_lease_invalidates_nothing_and_closes_nothing(
    post: Post, fans: list[User], dead_redis: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_lease(name: str) -> None:
        if name == "chunk-delivered":
            FanOutChunk.objects.update(lease=7)

    monkeypatch.setattr(deliver, "failpoint", lose_lease)
    with dead_redis():
        assert not deliver.run_chunk(chunk(post).pk)
    assert (chunk(post).done, chunk(post).uncached) == (False, False)
