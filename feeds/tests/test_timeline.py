"""The home feed: hybrid equals oracle, whatever was pushed, pulled, half delivered or lost."""

import contextlib
import os
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.conf import LazySettings
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from accounts import actions as accounts
from accounts.models import User
from feeds import actions, fanout, inbox, pull, queries, trim
from feeds.models import AuthorHead, FanOut, FanOutChunk, InboxEntry, Mode, Post, PostContent
from feeds.tests.test_merge import INBOX, OFFSET, OUTBOX_200, OUTBOX_211, PAGES
from relations import actions as relations
from socialsite.core import redis, relay
from socialsite.core.errors import Blacklisted, UserBanned, UserNotFound
from socialsite.core.models import Event
from socialsite.core.pagination import Position

Make = Callable[..., Any]


def all_pages(read: Callable[..., Any], viewer: User, size: int) -> list[list[str]]:
    """Walk a feed to its end."""
    pages, cursor = [], None
    while True:
        page = read(viewer, cursor, size)
        pages.append([card["id"] for card in page.items])
        if page.next is None:
            return pages
        cursor = Position.decode(page.next)


def assert_exact(viewer: User, size: int = 3) -> None:
    hybrid = all_pages(queries.home_feed, viewer, size)
    oracle = all_pages(queries.oracle_feed, viewer, size)
    assert hybrid == oracle


def place(author: User, ident: int, seconds: int, mode: Mode) -> Post:
    """Put a post where the book's example has it."""
    post = Post.objects.create(id=OFFSET + ident, author=author, position=seconds * 1000, mode=mode)
    PostContent.objects.create(post=post, content=str(ident))
    head, _ = AuthorHead.objects.get_or_create(author=author)
    head.last_position = max(head.last_position, post.position)
    if mode != Mode.ALL:
        head.last_pulled_position = max(head.last_pulled_position, post.position)
    head.save()
    return post


def test_the_golden_example_pages_through_the_real_feed(make_user: Make, drain: Make) -> None:
    u111, u200, u211, u222 = (make_user() for _ in range(4))
    for author in (u200, u211, u222):
        relations.follow(u111, author)
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


def test_the_database_example_pages_as_the_book_says(make_user: Make, drain: Make) -> None:
    """S4 11.6.5: five posts share one second; the cursor is (time, id), so none is lost."""
    reader, author = make_user(), make_user()
    relations.follow(reader, author)
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
    relations.follow(reader, author)
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
    relations.follow(reader, author)
    assert len(queries.home_feed(reader, None, 10).items) == 5
    drain()
    assert len(queries.home_feed(reader, None, 10).items) == 5
    relations.unfollow(reader, author)
    assert queries.home_feed(reader, None, 10).items == []
    drain()
    assert InboxEntry.objects.count() == 0


def test_what_was_posted_between_unfollow_and_follow_is_there_at_once(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author, other = make_user(), make_user(), make_user()
    relations.follow(reader, author)
    relations.follow(other, author)
    drain()
    relations.unfollow(reader, author)
    post = make_post(author)
    # Only this post's events run; those of the relation are late.
    Event.objects.filter(aggregate_type="following").update(available_at=2**60)
    drain()
    assert FanOut.objects.get(post=post).state == FanOut.State.DONE
    relations.follow(reader, author)
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
    relations.follow(reader, author)
    drain()
    assert InboxEntry.objects.count() <= 2
    assert_exact(reader)


def test_posts_for_followers_are_for_followers(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author = make_user(), make_user()
    make_post(author, visibility="followers")
    assert queries.profile_posts(reader, author.pk, None, 10).items == []
    relations.follow(reader, author)
    assert len(queries.profile_posts(reader, author.pk, None, 10).items) == 1
    assert_exact(reader)


def test_a_page_is_full_although_posts_of_a_banned_author_stand_in_between(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, good, bad = make_user(), make_user(), make_user()
    relations.follow(reader, good)
    relations.follow(reader, bad)
    drain()
    for _ in range(4):
        make_post(good)
        for _ in range(6):
            make_post(bad)
    drain()
    accounts.ban(bad)
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
        relations.follow(reader, author)
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


class FeedMachine(RuleBasedStateMachine):
    """Random lives of a few people; after every step every reader's whole feed is the oracle's."""

    def __init__(self) -> None:
        super().__init__()
        redis.call(lambda connection: connection.flushdb())
        self.people = [
            accounts.register(username=f"model{n}", nickname=f"Model{n}", password="right.pass1")
            for n in range(4)
        ]
        self.posts: list[Post] = []

    def teardown(self) -> None:
        """Leave empty tables to the next life."""
        for app in ("core", "feeds", "relations", "accounts"):
            for model in reversed(list(apps.get_app_config(app).get_models())):
                model._default_manager.all()._raw_delete("default")

    people_index = st.integers(0, 3)

    @rule(a=people_index, b=people_index, do=st.sampled_from(["follow", "follow", "unfollow"]))
    def change_follow(self, a: int, b: int, do: str) -> None:
        if a != b:
            with contextlib.suppress(Blacklisted, UserBanned, UserNotFound):
                getattr(relations, do)(self.people[a], self.people[b])

    @rule(a=people_index, b=people_index, do=st.sampled_from(["block", "unblock"]))
    def change_block(self, a: int, b: int, do: str) -> None:
        if a != b:
            with contextlib.suppress(UserNotFound):
                getattr(relations, do)(self.people[a], self.people[b])

    @rule(
        a=people_index,
        mode=st.sampled_from(list(Mode)),
        visibility=st.booleans(),
        n=st.integers(1, 4),
    )
    def publish(self, a: int, mode: Mode, visibility: bool, n: int) -> None:
        with mock.patch.object(actions, "mode_for", return_value=mode):
            for _ in range(n):
                self.posts.append(
                    actions.publish(
                        self.people[a],
                        content="x",
                        visibility="public" if visibility else "followers",
                    )
                )

    @rule(a=people_index, data=st.data())
    def publish_at_the_time_of_another(self, a: int, data: st.DataObject) -> None:
        """Two posts at one ms: only the id breaks the tie."""
        if self.posts:
            twin = data.draw(st.sampled_from(self.posts))
            made = actions.publish(self.people[a], content="tie", at_ms=twin.position)
            self.posts.append(made)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if self.posts:
            post = data.draw(st.sampled_from(self.posts))
            actions.delete(User.objects.get(pk=post.author_id), post.pk)

    @rule(data=st.data())
    def deliver_one_event(self, data: st.DataObject) -> None:
        """In any order, and now and then twice."""
        events = list(Event.objects.order_by("pk"))
        if events:
            event = data.draw(st.sampled_from(events))
            Event.objects.exclude(pk=event.pk).update(available_at=2**60)
            relay.relay()
            Event.objects.update(available_at=0)

    @rule(data=st.data())
    def run_one_chunk(self, data: st.DataObject) -> None:
        chunks = list(FanOutChunk.objects.filter(done=False))
        if chunks:
            fanout.run_chunk(data.draw(st.sampled_from(chunks)).pk)

    @rule(a=people_index, b=people_index)
    def sync_for_no_reason(self, a: int, b: int) -> None:
        if a != b:
            inbox.sync_inbox(self.people[a].pk, self.people[b].pk)

    @rule()
    def drain(self) -> None:
        while relay.relay() + fanout.sweep():
            pass

    @rule(a=people_index, on=st.booleans())
    def ban(self, a: int, on: bool) -> None:
        person = User.objects.get(pk=self.people[a].pk)
        (accounts.ban if on else accounts.unban)(person)

    @rule(a=people_index)
    def trim_inbox(self, a: int) -> None:
        trim.trim(self.people[a].pk)

    @rule(data=st.data())
    def lose_a_key_of_redis(self, data: st.DataObject) -> None:
        keys = sorted(redis.call(lambda connection: connection.keys()))
        if keys:
            lost = data.draw(st.sampled_from(keys))
            redis.call(lambda connection: connection.delete(lost))

    @rule()
    def lose_redis(self) -> None:
        redis.call(lambda connection: connection.flushdb())

    @invariant()
    def hybrid_is_oracle(self) -> None:
        for person in self.people:
            assert_exact(person)


@pytest.mark.timeout(0 if "MODEL_EXAMPLES" in os.environ else 240)
class TestMachine(TestCase):
    """The machine on whichever database the run has; MODEL_EXAMPLES in the environment: more."""

    def test_hybrid_is_oracle_whatever_happens(self) -> None:
        sizes = {"INBOX_MAX": 5, "MAX_CACHED_POST_SIZE": 3, "MIN_CACHED_POST_SECONDS": 0}
        # So small that four people are enough for each way of pulling.
        ways = {"FEW": 1, "WORTH_A_PROBE": 0, "PROBE": 1, "BY_AUTHOR": 2, "IDS_MAX": 2, "SPARE": 0}
        small = self.settings(FANOUT_CHUNK=2, BACKFILL_MAX=2, **sizes)
        with small, mock.patch.multiple(pull, **ways):
            run_state_machine_as_test(
                FeedMachine,
                settings=settings(
                    max_examples=int(os.environ.get("MODEL_EXAMPLES", "8")),
                    stateful_step_count=30,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
