"""Random histories of a few people; after every step every reader's whole feed equals the oracle's.

`test_timeline` runs them for seconds and `make chaos ARGS=model` for hours.

- The choices of a history do not depend on the state of the site: a rule gets a number and picks by
  it from the posts, events or keys that there are. The state depends on the clock and on random
  ids, so it differs when Hypothesis repeats a history, and Hypothesis refuses other choices then.
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import methodcaller
from typing import Any, TypeVar
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
from feeds import actions, queries, readers, tiers
from feeds.cards import hydration, prefetch
from feeds.delivery.fanout import deliver, sweep
from feeds.delivery.inbox import sync, trim
from feeds.drafts import actions as drafts
from feeds.home import pull
from feeds.models import Draft, FanOutChunk, Mode, Post, PostTag, PostVersion, Visibility
from feeds.tests.exactness.oracle import PAGE, assert_tag, assert_whole
from feeds.visibility import visible_to
from relations import actions as relations_actions
from relations import queries as relations_queries
from socialsite.core import db, redis
from socialsite.core.errors import (
    Blacklisted,
    Forbidden,
    InvalidInput,
    NotFound,
    StaleVersion,
    UserBanned,
    UserNotFound,
)
from socialsite.core.events import relay
from socialsite.core.models import Event
from socialsite.core.text.spans import tag_names

T = TypeVar("T")

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
# The tiers of authors.
TIERS = [Mode.ALL, Mode.ACTIVE, Mode.NONE]
TAGS = ("", "#one", "#One #two#")
# Most posts are public, so that feeds are full.
AUDIENCES = (*[Visibility.PUBLIC] * 3, *Visibility)
RELAY_POINTS = ("relay-claimed", "relay-handled", "relay-applied")
# The places where a reader reads the database to fill a cache.
FILLS: tuple[tuple[Any, str], ...] = (
    (db, "read_union"),
    (readers, "inbox_state"),
    (pull, "newest"),
    (pull, "outboxes"),
    (hydration, "_rows"),
)
# Keys lost before that, as patterns.
LOST = ("nothing", "*", "fanouts*", "inbox*", "outbox*", "post*", "reader:*", "epoch:*")


# A number by which a rule picks from a list, whose length it does not know.
PICK = st.integers(0, 9_999)
WRITES = ("publish", "import", "edit", "delete", "relation", "ban", "event", "chunk", "trim")


class Died(BaseException):
    """Simulates the death of a process."""


@dataclass(frozen=True)
class Write:
    """A write of any kind; each kind uses some of these choices."""

    what: str
    a: int
    b: int
    pick: int
    mode: Mode
    relation: str
    words: bool
    narrow: Visibility | None
    is_banned: bool


def follows(reader: int, author: int) -> bool:
    """Return whether one person follows another now."""
    return relations_queries.follows_queryset(reader).filter(to_user_id=author).exists()


def picked(items: Sequence[T], pick: int) -> T:
    """Return one of these items, which must not be empty."""
    return items[pick % len(items)]


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
    """Take Redis down; the next call catches up on missed invalidations.

    No thread works off the backlog: it would open the circuit breaker at any later moment.
    """

    def refuse() -> None:
        raise RedisConnectionError("dead")

    nobody = mock.patch.object(redis.backlog, "_thread", threading.current_thread())
    try:
        with mock.patch.object(redis, "client", refuse), nobody:
            yield
    finally:
        redis.breaker.reset()


class FeedMachine(RuleBasedStateMachine):
    """People who follow, block and write, with independent events, deliveries and caches."""

    def __init__(self) -> None:
        super().__init__()
        # What a failed history left in this process.
        redis.breaker.reset()
        prefetch.clear()
        redis.call(lambda connection: connection.flushdb())
        self.people = [
            accounts_actions.register(
                username=f"model{n}", nickname=f"Model{n}", password="right.pass1"
            )
            for n in range(PEOPLE)
        ]
        self.posts: list[Post] = []
        # The people who may see posts for named people, besides the authors.
        self.named: dict[int, set[int]] = {}

    def teardown(self) -> None:
        """Empty the tables for the next history."""
        for app in ("core", "interactions", "feeds", "relations", "accounts"):
            for model in reversed(list(apps.get_app_config(app).get_models())):
                model._default_manager.all()._raw_delete("default")

    people_index = st.integers(0, PEOPLE - 1)
    any_write = st.builds(
        Write,
        what=st.sampled_from(WRITES),
        a=people_index,
        b=people_index,
        pick=PICK,
        mode=st.sampled_from(TIERS),
        relation=st.sampled_from(["follow", "unfollow", "block", "unblock"]),
        words=st.booleans(),
        narrow=st.sampled_from((None, *Visibility)),
        is_banned=st.booleans(),
    )

    @initialize(
        follows=st.sets(st.tuples(people_index, people_index), max_size=12),
        posts=st.lists(st.tuples(people_index, st.sampled_from(TIERS)), max_size=8),
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
            self.publish(a, mode, n=1)

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
        mode=st.sampled_from(TIERS),
        audience=st.sampled_from(AUDIENCES),
        n=st.integers(1, 4),
        tags=st.sampled_from(TAGS),
        named=st.sets(people_index, max_size=2),
    )
    def publish(
        self,
        a: int,
        mode: Mode,
        n: int,
        audience: Visibility = Visibility.PUBLIC,
        tags: str = "",
        named: Collection[int] = (),
    ) -> None:
        """Publish with any tier: the author crosses the thresholds at will."""
        content = " ".join(["x", *self.signs_of(named), tags])
        people = self.open_people(named) - {self.people[a].pk}
        with mock.patch.object(tiers, "mode_for", return_value=mode):
            for _ in range(n):
                with contextlib.suppress(InvalidInput):
                    made = actions.publish(self.people[a], content=content, visibility=audience)
                    self.posts.append(made)
                    self.named[made.pk] = people if audience == Visibility.MENTIONED else set()

    @rule(a=people_index, weeks=st.integers(0, 3), audience=st.sampled_from(AUDIENCES))
    def import_post(self, a: int, weeks: int, audience: Visibility = Visibility.PUBLIC) -> None:
        """Publish a post of an earlier week, which is pushed to nobody."""
        at = db.now_ms() - weeks * tiers.WEEK_MS
        with contextlib.suppress(InvalidInput):
            made = actions.publish(
                self.people[a], content="x", visibility=audience, at_ms=at, imported=True
            )
            self.posts.append(made)
            self.named[made.pk] = set()

    def signs_of(self, named: Collection[int]) -> list[str]:
        """Return the words that name these people."""
        return [f"@{self.people[n].username}" for n in sorted(named)]

    def open_people(self, named: Collection[int]) -> set[int]:
        """Return the ids of those of these people who are not banned."""
        ids = [self.people[n].pk for n in named]
        return set(User.objects.active().filter(pk__in=ids).values_list("pk", flat=True))

    @rule(a=people_index, public=st.booleans())
    def schedule(self, a: int, public: bool) -> None:
        """Keep a draft that is published at some time."""
        visibility = Visibility.PUBLIC if public else Visibility.FOLLOWERS
        values = {"content": "later", "visibility": visibility.value}
        drafts.create(self.people[a], {**values, "publish_at": db.now_ms() + HOUR_MS})

    @rule(mode=st.sampled_from(TIERS))
    def reach_the_time_of_drafts(self, mode: Mode) -> None:
        """Let a worker publish what is scheduled; drafts of banned people stay."""
        Draft.objects.filter(publish_at__isnull=False).update(publish_at=db.now_ms() - 1)
        with mock.patch.object(tiers, "mode_for", return_value=mode):
            drafts.publish_due()
        known = [post.pk for post in self.posts]
        self.posts += Post.objects.exclude(pk__in=known).order_by("pk")

    @rule(a=people_index, n=st.integers(1, 3))
    def publish_to_all(self, a: int, n: int) -> None:
        self.publish(a, Mode.ALL, n=n)

    @rule(a=people_index, mode=st.sampled_from(TIERS), pick=PICK)
    def publish_at_the_time_of_another(self, a: int, mode: Mode, pick: int) -> None:
        """Publish two posts in one ms: only the id breaks the tie."""
        if self.posts:
            twin = picked(self.posts, pick)
            with mock.patch.object(tiers, "mode_for", return_value=mode):
                made = actions.publish(self.people[a], content="tie", at_ms=twin.position)
            self.posts.append(made)

    @rule(a=people_index, mode=st.sampled_from(TIERS), pick=PICK, words=st.booleans())
    def repost(self, a: int, mode: Mode, pick: int, words: bool) -> None:
        """Repost; for the feed a repost is an ordinary post."""
        if self.posts:
            source = picked(self.posts, pick)
            with (
                mock.patch.object(tiers, "mode_for", return_value=mode),
                contextlib.suppress(Forbidden, NotFound),
            ):
                made, _ = actions.repost(self.people[a], source.pk, "words" if words else "")
                self.posts.append(made)
                self.named[made.pk] = self.named.get(made.ref_post_id or 0, set())

    @rule(pick=PICK)
    def delete(self, pick: int) -> None:
        if self.posts:
            post = picked(self.posts, pick)
            actions.delete(User.objects.get(pk=post.author_id), post.pk)

    @rule(
        pick=PICK,
        words=st.booleans(),
        narrow=st.sampled_from((None, *Visibility)),
        lag=st.integers(0, 1),
        tags=st.sampled_from(TAGS),
        named=st.sets(people_index, max_size=2),
    )
    def edit(
        self,
        pick: int,
        words: bool,
        narrow: Visibility | None,
        lag: int,
        tags: str = "",
        named: Collection[int] = (),
    ) -> None:
        """Edit the words or the audience, also of a version that is gone: that changes nothing."""
        if self.posts:
            post = Post.objects.select_related("content_row").get(pk=picked(self.posts, pick).pk)
            version = post.content_row.version
            content = " ".join([f"words {version}", *self.signs_of(named), tags])
            with contextlib.suppress(Forbidden, NotFound, InvalidInput, StaleVersion):
                after = actions.edit(
                    User.objects.get(pk=post.author_id),
                    post.pk,
                    version - lag,
                    content=content if words else None,
                    visibility=narrow,
                )
                if after.visibility != post.visibility:
                    self.named[post.pk] = self.named_after(post, after.visibility)

    def named_after(self, before: Post, visibility: str) -> set[int]:
        """Return the named people of a post that got this narrower audience."""
        if visibility != Visibility.MENTIONED:
            return set()
        words = Post.objects.values_list("content_row__content", flat=True).get(pk=before.pk)
        named = {n for n, one in enumerate(self.people) if f"@{one.username}" in words}
        people = self.open_people(named) - {before.author_id}
        if before.visibility == Visibility.FOLLOWERS:
            people &= {one for one in people if follows(one, before.author_id)}
        return people

    # --- deliveries -----------------------------------------------------------------------------
    @rule(pick=PICK)
    def deliver_one_event(self, pick: int) -> None:
        """Deliver in any order, and now and then twice."""
        self.relay_one(pick)

    @rule(pick=PICK, point=st.sampled_from(RELAY_POINTS))
    def die_in_an_event(self, pick: int, point: str) -> None:
        with mock.patch.object(relay, "failpoint", dies_at(point)), contextlib.suppress(Died):
            self.relay_one(pick)
        Event.objects.update(available_at=0)

    def relay_one(self, pick: int) -> None:
        events = list(Event.objects.order_by("pk"))
        if events:
            event = picked(events, pick)
            Event.objects.exclude(pk=event.pk).update(available_at=2**60)
            relay.relay()
            Event.objects.update(available_at=0)

    @rule(pick=PICK)
    def run_one_chunk(self, pick: int) -> None:
        self.run_a_chunk(pick)

    @rule(pick=PICK, point=st.sampled_from(CHUNK_POINTS))
    def die_in_a_chunk(self, pick: int, point: str) -> None:
        """Die within a chunk; the next run repeats all of its work."""
        with mock.patch.object(deliver, "failpoint", dies_at(point)), contextlib.suppress(Died):
            self.run_a_chunk(pick)
        FanOutChunk.objects.filter(uncached=False).update(leased_until=0)

    def run_a_chunk(self, pick: int) -> None:
        chunks = list(FanOutChunk.objects.filter(done=False).order_by("pk"))
        if chunks:
            deliver.run_chunk(picked(chunks, pick).pk)

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
    @rule(pick=PICK)
    def lose_a_key_of_redis(self, pick: int) -> None:
        keys = sorted(redis.call(lambda connection: connection.keys()))
        if keys:
            lost = picked(keys, pick)
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

    @rule(write=any_write)
    def write_without_redis(self, write: Write) -> None:
        with dead_redis():
            self.write(write)
            assert_whole(self.people[write.a])

    @rule(
        write=any_write,
        reader=people_index,
        fill=st.sampled_from(FILLS),
        lost=st.sampled_from(LOST),
    )
    def write_while_a_cache_is_filled(
        self, write: Write, reader: int, fill: tuple[Any, str], lost: str
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
                self.write(write)
            return found

        with mock.patch.object(owner, name, read_and_wait):
            queries.home_feed(self.people[reader], None, PAGE)

    def write(self, write: Write) -> None:
        one, other = self.people[write.a], self.people[write.b]
        if write.what == "publish":
            self.publish(write.a, write.mode, n=1)
        elif write.what == "import":
            self.import_post(write.a, write.pick % 4)
        elif write.what == "edit":
            self.edit(write.pick, write.words, write.narrow, lag=0, named=[write.b])
        elif write.what == "delete":
            self.delete(write.pick)
        elif write.what == "relation" and write.a != write.b:
            with contextlib.suppress(*REFUSED):
                getattr(relations_actions, write.relation)(one, other)
        elif write.what == "ban":
            self.ban(write.a, on=write.is_banned)
        elif write.what == "event":
            self.relay_one(write.pick)
        elif write.what == "chunk":
            self.run_a_chunk(write.pick)
        elif write.what == "trim":
            trim.trim(one.pk)

    @invariant()
    def hybrid_is_oracle(self) -> None:
        for person in self.people:
            assert_whole(person)

    @invariant()
    def audiences_are_their_definition(self) -> None:
        """Each reader sees the posts that the plain rule says, by row and by card."""
        closed = set(User.objects.exclude(banned_at=None).values_list("pk", flat=True))
        rows = Post.objects.filter(is_deleted=False).exclude(author_id__in=closed)
        posts = list(rows.values_list("pk", "author_id", "visibility"))
        for person in self.people:
            seen = {pk for pk, by, audience in posts if self.sees(person.pk, pk, by, audience)}
            assert set(visible_to(person.pk).values_list("pk", flat=True)) == seen
            assert set(queries.visible_cards(person, [pk for pk, *_ in posts])) == seen

    def sees(self, reader: int, post: int, author: int, visibility: str) -> bool:
        """Return whether a person may see a post that is not deleted, of an open account."""
        if reader == author:
            return True
        if relations_queries.is_blocked(reader, author):
            return False
        if visibility == Visibility.MENTIONED:
            return reader in self.named[post]
        if visibility == Visibility.FOLLOWERS:
            return follows(reader, author)
        return visibility in (Visibility.PUBLIC, Visibility.QUIET)

    @invariant()
    def tags_are_exact(self) -> None:
        """Each post that is not deleted is found by the tags of its words, by its readers."""
        posts = Post.objects.filter(is_deleted=False).exclude(visibility=Visibility.QUIET)
        posts = posts.select_related("content_row")
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
