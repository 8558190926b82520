"""Random histories of a few people; after every step every reader's whole feed equals the oracle's.

`test_timeline` runs them for seconds and `make chaos ARGS=model` for hours.
"""

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from operator import methodcaller
from typing import Any
from unittest import mock

from django.apps import apps
from django.test import override_settings
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, queries
from feeds.drafts import actions as drafts
from feeds.fanout import deliver, sweep, tiers
from feeds.home import hydration, pull, viewer
from feeds.inbox import sync, trim
from feeds.models import Draft, FanOutChunk, Mode, Post, PostTag, PostVersion, Visibility
from feeds.tests.oracle import PAGE, assert_tag, assert_whole
from relations import actions as relations_actions
from socialsite.core import db, redis
from socialsite.core.events import relay
from socialsite.core.http.errors import (
    Blacklisted,
    Forbidden,
    InvalidInput,
    NotFound,
    StaleVersion,
    UserBanned,
    UserNotFound,
)
from socialsite.core.models import Event
from socialsite.core.text.spans import tag_names

PEOPLE = 4
SIZES = {
    "FANOUT_CHUNK": 2,
    "BACKFILL_MAX": 2,
    "INBOX_MAX": 5,
    "MAX_CACHED_POST_SIZE": 3,
    "MIN_CACHED_POST_SECONDS": 0,
}
# So small that four people suffice for each way of pulling.
WAYS: dict[str, Any] = {
    "FEW": 1,
    "WORTH_A_PROBE": 0,
    "PROBE": 1,
    "BY_AUTHOR": 2,
    "IDS_MAX": 2,
    "SPARE": 0,
}
REFUSED = (Blacklisted, UserBanned, UserNotFound)
CHUNK_POINTS = (
    "chunk-leased",
    "chunk-inserted",
    "chunk-delivered",
    "chunk-cached",
    "chunk-done",
    "fanout-done",
)
HOUR_MS = 3_600_000
TAGS = ("", "#one", "#One #two#")
RELAY_POINTS = ("relay-claimed", "relay-handled", "relay-applied")
# The places where a reader reads the database to fill a cache.
FILLS: tuple[tuple[Any, str], ...] = (
    (db, "read_union"),
    (viewer, "inbox_state"),
    (pull, "newest"),
    (pull, "outboxes"),
    (hydration, "_rows"),
)
# Keys lost before that, as patterns.
LOST = ("nothing", "*", "fanouts*", "inbox*", "outbox*", "post*", "reader:*", "epoch:*")


class Died(BaseException):
    """Simulates the death of a process."""


@contextlib.contextmanager
def small() -> Iterator[None]:
    """Make all limits small enough for a few people and posts."""
    with override_settings(**SIZES), mock.patch.multiple(pull, **WAYS):
        yield


def lives(runs: int, steps: int) -> settings:
    """Return the settings of hypothesis."""
    return settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@contextlib.contextmanager
def dead_redis() -> Iterator[None]:
    """Take Redis down; the next call catches up on missed invalidations."""

    def refuse() -> None:
        raise RedisConnectionError("dead")

    with mock.patch.object(redis, "client", refuse):
        yield
    redis.breaker.reset()


class FeedMachine(RuleBasedStateMachine):
    """People who follow, block and write, with independent events, deliveries and caches."""

    def __init__(self) -> None:
        super().__init__()
        redis.call(lambda connection: connection.flushdb())
        self.people = [
            accounts_actions.register(
                username=f"model{n}", nickname=f"Model{n}", password="right.pass1"
            )
            for n in range(PEOPLE)
        ]
        self.posts: list[Post] = []

    def teardown(self) -> None:
        """Empty the tables for the next history."""
        for app in ("core", "interactions", "feeds", "relations", "accounts"):
            for model in reversed(list(apps.get_app_config(app).get_models())):
                model._default_manager.all()._raw_delete("default")

    people_index = st.integers(0, PEOPLE - 1)

    @initialize(
        follows=st.sets(st.tuples(people_index, people_index), max_size=12),
        posts=st.lists(st.tuples(people_index, st.sampled_from(list(Mode))), max_size=8),
        is_drained=st.booleans(),
    )
    def begin(
        self, follows: set[tuple[int, int]], posts: list[tuple[int, Mode]], is_drained: bool
    ) -> None:
        """Create follows and posts, which most failures need."""
        for a, b in sorted(follows):
            self.change_follow(a, b, "follow")
        if is_drained:
            self.drain()
        for a, mode in posts:
            self.publish(a, mode, visibility=True, n=1)

    # --- people ---------------------------------------------------------------------------------
    @rule(a=people_index, b=people_index, do=st.sampled_from(["follow", "follow", "unfollow"]))
    def change_follow(self, a: int, b: int, do: str) -> None:
        if a != b:
            with contextlib.suppress(*REFUSED):
                getattr(relations_actions, do)(self.people[a], self.people[b])

    @rule(a=people_index, b=people_index, do=st.sampled_from(["block", "unblock"]))
    def change_block(self, a: int, b: int, do: str) -> None:
        if a != b:
            with contextlib.suppress(*REFUSED):
                getattr(relations_actions, do)(self.people[a], self.people[b])

    @rule(a=people_index, on=st.booleans())
    def ban(self, a: int, on: bool) -> None:
        person = User.objects.get(pk=self.people[a].pk)
        (accounts_actions.ban if on else accounts_actions.unban)(person)

    @rule(a=people_index, days=st.sampled_from([0, 1000]))
    def come_or_stay_away(self, a: int, days: int) -> None:
        """Change who was here recently, as posts of mode ACTIVE go only to them."""
        seen = timezone.now() - timedelta(days=days)
        User.objects.filter(pk=self.people[a].pk).update(last_seen=seen)

    # --- posts ----------------------------------------------------------------------------------
    @rule(
        a=people_index,
        mode=st.sampled_from(list(Mode)),
        visibility=st.booleans(),
        n=st.integers(1, 4),
        tags=st.sampled_from(TAGS),
    )
    def publish(self, a: int, mode: Mode, visibility: bool, n: int, tags: str = "") -> None:
        """Publish with any tier: the author crosses the thresholds at will."""
        with mock.patch.object(tiers, "mode_for", return_value=mode):
            for _ in range(n):
                self.posts.append(
                    actions.publish(
                        self.people[a],
                        content=f"x {tags}",
                        visibility=Visibility.PUBLIC if visibility else Visibility.FOLLOWERS,
                    )
                )

    @rule(a=people_index, public=st.booleans())
    def schedule(self, a: int, public: bool) -> None:
        """Keep a draft that is published at some time."""
        visibility = Visibility.PUBLIC if public else Visibility.FOLLOWERS
        values = {"content": "later", "visibility": visibility.value}
        drafts.create(self.people[a], {**values, "publish_at": db.now_ms() + HOUR_MS})

    @rule(mode=st.sampled_from(list(Mode)))
    def reach_the_time_of_drafts(self, mode: Mode) -> None:
        """Let a worker publish what is scheduled; drafts of banned people stay."""
        Draft.objects.filter(publish_at__isnull=False).update(publish_at=db.now_ms() - 1)
        with mock.patch.object(tiers, "mode_for", return_value=mode):
            drafts.publish_due()
        self.posts += Post.objects.exclude(pk__in=[post.pk for post in self.posts])

    @rule(a=people_index, n=st.integers(1, 3))
    def publish_to_all(self, a: int, n: int) -> None:
        self.publish(a, Mode.ALL, visibility=True, n=n)

    @rule(a=people_index, mode=st.sampled_from(list(Mode)), data=st.data())
    def publish_at_the_time_of_another(self, a: int, mode: Mode, data: st.DataObject) -> None:
        """Publish two posts in one ms: only the id breaks the tie."""
        if self.posts:
            twin = data.draw(st.sampled_from(self.posts))
            with mock.patch.object(tiers, "mode_for", return_value=mode):
                made = actions.publish(self.people[a], content="tie", at_ms=twin.position)
            self.posts.append(made)

    @rule(a=people_index, mode=st.sampled_from(list(Mode)), data=st.data(), words=st.booleans())
    def repost(self, a: int, mode: Mode, data: st.DataObject, words: bool) -> None:
        """Repost; for the feed a repost is an ordinary post."""
        if self.posts:
            source = data.draw(st.sampled_from(self.posts))
            with (
                mock.patch.object(tiers, "mode_for", return_value=mode),
                contextlib.suppress(Forbidden, NotFound),
            ):
                made, _ = actions.repost(self.people[a], source.pk, "words" if words else "")
                self.posts.append(made)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if self.posts:
            post = data.draw(st.sampled_from(self.posts))
            actions.delete(User.objects.get(pk=post.author_id), post.pk)

    @rule(
        data=st.data(),
        words=st.booleans(),
        narrow=st.booleans(),
        lag=st.integers(0, 1),
        tags=st.sampled_from(TAGS),
    )
    def edit(
        self, data: st.DataObject, words: bool, narrow: bool, lag: int, tags: str = ""
    ) -> None:
        """Edit the words or the audience, also of a version that is gone: that changes nothing."""
        if self.posts:
            post = data.draw(st.sampled_from(self.posts))
            version = Post.objects.values_list("content_row__version", flat=True).get(pk=post.pk)
            with contextlib.suppress(Forbidden, NotFound, InvalidInput, StaleVersion):
                actions.edit(
                    User.objects.get(pk=post.author_id),
                    post.pk,
                    version - lag,
                    content=f"words {version} {tags}" if words else None,
                    visibility=Visibility.FOLLOWERS if narrow else None,
                )

    # --- deliveries -----------------------------------------------------------------------------
    @rule(data=st.data())
    def deliver_one_event(self, data: st.DataObject) -> None:
        """Deliver in any order, and now and then twice."""
        self.relay_one(data)

    @rule(data=st.data(), point=st.sampled_from(RELAY_POINTS))
    def die_in_an_event(self, data: st.DataObject, point: str) -> None:
        with mock.patch.object(relay, "failpoint", dies_at(point)), contextlib.suppress(Died):
            self.relay_one(data)
        Event.objects.update(available_at=0)

    def relay_one(self, data: st.DataObject) -> None:
        events = list(Event.objects.order_by("pk"))
        if events:
            event = data.draw(st.sampled_from(events))
            Event.objects.exclude(pk=event.pk).update(available_at=2**60)
            relay.relay()
            Event.objects.update(available_at=0)

    @rule(data=st.data())
    def run_one_chunk(self, data: st.DataObject) -> None:
        self.run_a_chunk(data)

    @rule(data=st.data(), point=st.sampled_from(CHUNK_POINTS))
    def die_in_a_chunk(self, data: st.DataObject, point: str) -> None:
        """Die within a chunk; the next run repeats all of its work."""
        with mock.patch.object(deliver, "failpoint", dies_at(point)), contextlib.suppress(Died):
            self.run_a_chunk(data)
        FanOutChunk.objects.filter(uncached=False).update(leased_until=0)

    def run_a_chunk(self, data: st.DataObject) -> None:
        chunks = list(FanOutChunk.objects.filter(done=False))
        if chunks:
            deliver.run_chunk(data.draw(st.sampled_from(chunks)).pk)

    @rule()
    def drain(self) -> None:
        while relay.relay() + sweep.run():
            pass

    @rule(a=people_index, b=people_index)
    def sync_for_no_reason(self, a: int, b: int) -> None:
        if a != b:
            sync.sync_inbox(self.people[a].pk, self.people[b].pk)

    @rule(a=people_index)
    def trim_inbox(self, a: int) -> None:
        trim.trim(self.people[a].pk)

    # --- caches ---------------------------------------------------------------------------------
    @rule(data=st.data())
    def lose_a_key_of_redis(self, data: st.DataObject) -> None:
        keys = sorted(redis.call(lambda connection: connection.keys()))
        if keys:
            lost = data.draw(st.sampled_from(keys))
            redis.call(lambda connection: connection.delete(lost))

    @rule()
    def lose_redis(self) -> None:
        redis.call(lambda connection: connection.flushdb())

    @rule()
    def expire_readers_and_leases(self) -> None:
        """Let a minute pass."""
        keys = redis.call(lambda connection: connection.keys("reader:*"))
        for key in keys:
            redis.call(methodcaller("delete", key))
        FanOutChunk.objects.update(leased_until=0)

    @rule(a=people_index, b=people_index, data=st.data())
    def write_without_redis(self, a: int, b: int, data: st.DataObject) -> None:
        with dead_redis():
            self.write(a, b, data)
            assert_whole(self.people[a])

    @rule(
        a=people_index,
        b=people_index,
        reader=people_index,
        fill=st.sampled_from(FILLS),
        lost=st.sampled_from(LOST),
        data=st.data(),
    )
    def write_while_a_cache_is_filled(
        self, a: int, b: int, reader: int, fill: tuple[Any, str], lost: str, data: st.DataObject
    ) -> None:
        """Write between the database read and the cache fill of a reader."""
        redis.call(lambda connection: connection.delete("nothing", *connection.keys(lost)))
        owner, name = fill
        real: Callable[..., Any] = getattr(owner, name)
        waiting = [True]

        def read_and_wait(*args: Any, **kwargs: Any) -> Any:
            found = real(*args, **kwargs)
            if waiting:
                waiting.clear()
                self.write(a, b, data)
            return found

        with mock.patch.object(owner, name, read_and_wait):
            queries.home_feed(self.people[reader], None, PAGE)

    def write(self, a: int, b: int, data: st.DataObject) -> None:
        """Do one of all kinds of writes."""
        one, other = self.people[a], self.people[b]
        what = data.draw(
            st.sampled_from(
                ["publish", "edit", "delete", "relation", "ban", "event", "chunk", "trim"]
            )
        )
        if what == "publish":
            self.publish(a, data.draw(st.sampled_from(list(Mode))), visibility=True, n=1)
        elif what == "edit":
            self.edit(data, words=data.draw(st.booleans()), narrow=data.draw(st.booleans()), lag=0)
        elif what == "delete":
            self.delete(data)
        elif what == "relation" and a != b:
            do = data.draw(st.sampled_from(["follow", "unfollow", "block", "unblock"]))
            with contextlib.suppress(*REFUSED):
                getattr(relations_actions, do)(one, other)
        elif what == "ban":
            self.ban(a, on=data.draw(st.booleans()))
        elif what == "event":
            self.relay_one(data)
        elif what == "chunk":
            self.run_a_chunk(data)
        elif what == "trim":
            trim.trim(one.pk)

    @invariant()
    def hybrid_is_oracle(self) -> None:
        for person in self.people:
            assert_whole(person)

    @invariant()
    def tags_are_exact(self) -> None:
        """Each post that is not deleted is found by the tags of its words, by its readers."""
        posts = Post.objects.filter(is_deleted=False).select_related("content_row")
        wanted = {
            (tag, post.position, post.pk, post.author_id, post.visibility == Visibility.PUBLIC)
            for post in posts
            for tag in tag_names(post.content_row.content)
        }
        columns = ("tag__name", "position", "post_id", "author_id", "is_public")
        assert set(PostTag.objects.values_list(*columns)) == wanted
        reader = self.people[len(self.posts) % PEOPLE]
        for name in ("one", "two"):
            assert_tag(reader, name)

    @invariant()
    def versions_are_whole(self) -> None:
        """Each post that is not deleted has all its former versions, a deleted one has none."""
        former: dict[int, list[int]] = {}
        for post, version in PostVersion.objects.order_by("version").values_list("post", "version"):
            former.setdefault(post, []).append(version)
        rows = Post.objects.values_list("pk", "content_row__version", "is_deleted")
        whole = {pk: [*range(1, version)] for pk, version, gone in rows if version > 1 and not gone}
        assert former == whole


def dies_at(point: str) -> Callable[[str], None]:
    """Return a failpoint function that dies at one of these names."""

    def hit(name: str) -> None:
        if name == point:
            raise Died

    return hit
