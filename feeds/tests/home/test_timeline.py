"""The home feed: hybrid equals oracle, however posts are pushed, pulled, half delivered or lost."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from hypothesis.extra.django import TestCase

from accounts import actions as accounts_actions
from feeds import queries
from feeds.models import FanOut, InboxEntry, Mode
from feeds.tests.book_example import INBOX, OFFSET, OUTBOX_200, OUTBOX_211, PAGES, place
from feeds.tests.exactness import histories, model
from feeds.tests.exactness.oracle import all_pages, assert_exact
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.models import Event

Make = Callable[..., Any]


def test_the_golden_example_pages_through_the_real_feed(make_user: Make, drain: Make) -> None:
    u111, u200, u211, u222 = (make_user() for _ in range(4))
    for author in (u200, u211, u222):
        relations_actions.follow(u111, author)
    drain()
    for author, outbox in ((u200, OUTBOX_200), (u211, OUTBOX_211)):
        for ident, seconds in outbox:
            place(author, ident, seconds, Mode.NONE)
    for ident, seconds in INBOX:
        post = place(u222, ident, seconds, Mode.ALL)
        InboxEntry.objects.create(user=u111, publish_time=post.position, post=post, author=u222)
    pages = all_pages(queries.home_feed, u111, 3)
    assert [[int(i) - OFFSET for i in page] for page in pages] == PAGES[:-1]
    assert_exact(u111)


def test_the_database_example_has_the_expected_pages(make_user: Make, drain: Make) -> None:
    """Example of S4: five posts share one second; the cursor is (time, id), so none is lost."""
    reader, author = make_user(), make_user()
    relations_actions.follow(reader, author)
    drain()
    rows = [(135, 9), (2025, 8), (1991, 7), (927, 6), (833, 6), (19671, 5), (10833, 5)]
    rows += [(9266, 5), (1673, 5), (627, 5), (128, 4), (163, 3)]
    for ident, seconds in rows:
        post = place(author, ident, seconds, Mode.ALL)
        InboxEntry.objects.create(user=reader, publish_time=post.position, post=post, author=author)
    pages = all_pages(queries.home_feed, reader, 3)
    assert [[int(i) - OFFSET for i in page] for page in pages] == [
        [135, 2025, 1991],
        [927, 833, 19671],
        [10833, 9266, 1673],
        [627, 128, 163],
    ]


def test_a_post_is_in_the_feed_before_anything_was_delivered(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author = make_user(), make_user()
    relations_actions.follow(reader, author)
    drain()
    post = make_post(author)
    assert InboxEntry.objects.count() == 0
    assert [c["id"] for c in queries.home_feed(reader, None, 10).items] == [str(post.pk)]
    drain()
    assert InboxEntry.objects.count() == 1
    assert [c["id"] for c in queries.home_feed(reader, None, 10).items] == [str(post.pk)]


def test_a_new_follow_shows_all_posts_at_once_and_unfollow_hides_them(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author = make_user(), make_user()
    for _ in range(5):
        make_post(author)
    drain()
    relations_actions.follow(reader, author)
    assert len(queries.home_feed(reader, None, 10).items) == 5
    drain()
    assert len(queries.home_feed(reader, None, 10).items) == 5
    relations_actions.unfollow(reader, author)
    assert queries.home_feed(reader, None, 10).items == []
    drain()
    assert InboxEntry.objects.count() == 0


def test_posts_between_unfollow_and_follow_show_at_once(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author, other = make_user(), make_user(), make_user()
    relations_actions.follow(reader, author)
    relations_actions.follow(other, author)
    drain()
    relations_actions.unfollow(reader, author)
    post = make_post(author)
    # Only this post's events run; those of the relation are late.
    Event.objects.filter(aggregate_type="following").update(available_at=2**60)
    drain()
    assert FanOut.objects.get(post=post).state == FanOut.State.DONE
    relations_actions.follow(reader, author)
    assert_exact(reader)
    Event.objects.update(available_at=0)
    drain()
    assert_exact(reader)


def test_a_bounded_backfill_leaves_no_hole(
    make_user: Make, make_post: Make, drain: Make, settings: LazySettings
) -> None:
    settings.BACKFILL_MAX = 2
    reader, author = make_user(), make_user()
    for _ in range(7):
        make_post(author)
    drain()
    relations_actions.follow(reader, author)
    drain()
    assert InboxEntry.objects.count() <= 2
    assert_exact(reader)


def test_posts_for_followers_are_for_followers(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author = make_user(), make_user()
    make_post(author, visibility="followers")
    assert queries.profile_posts(reader, author.pk, None, 10).items == []
    relations_actions.follow(reader, author)
    assert len(queries.profile_posts(reader, author.pk, None, 10).items) == 1
    assert_exact(reader)


def test_a_page_is_full_although_posts_of_a_banned_author_stand_in_between(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, good, bad = make_user(), make_user(), make_user()
    relations_actions.follow(reader, good)
    relations_actions.follow(reader, bad)
    drain()
    for _ in range(4):
        make_post(good)
        for _ in range(6):
            make_post(bad)
    drain()
    accounts_actions.ban(bad)
    assert [len(p) for p in all_pages(queries.home_feed, reader, 3)] == [3, 1]
    assert_exact(reader)


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that grows by one with each round trip to Redis."""
    seen: list[object] = []
    call = redis.call
    monkeypatch.setattr(redis, "call", lambda function: (seen.append(function), call(function))[1])
    return seen


@pytest.mark.parametrize("pulled", [0, 3])
def test_the_first_page_costs_a_bounded_number_of_queries_and_the_next_reader_none(
    make_user: Make,
    make_post: Make,
    drain: Make,
    django_assert_max_num_queries: Make,
    settings: LazySettings,
    round_trips: list[object],
    pulled: int,
) -> None:
    reader = make_user()
    for number in range(12):
        author = make_user()
        relations_actions.follow(reader, author)
        settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0 if number < pulled else 5000
        make_post(author)
    drain()
    with django_assert_max_num_queries(12 + pulled):
        first = queries.home_feed(reader, None, 10)
    assert len(first.items) == 10
    round_trips.clear()
    with django_assert_max_num_queries(0):
        assert queries.home_feed(reader, None, 10) == first
    assert len(round_trips) == 2


@pytest.mark.slow(reason="random lives, each feed compared with the oracle")
@pytest.mark.timeout(0 if "MODEL_EXAMPLES" in os.environ else 600)
class TestMachine(TestCase):
    """The machine on the database of this run; MODEL_EXAMPLES in the environment: more examples."""

    def test_hybrid_is_oracle_whatever_happens(self) -> None:
        runs = int(os.environ.get("MODEL_EXAMPLES", "8"))
        histories.run(model.FeedMachine, model.lives(runs, steps=30))
