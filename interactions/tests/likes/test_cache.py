"""Cached counts, likes, bookmarks: changes are seen at once, no old value is ever put in place."""

import contextlib
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts import actions as accounts_actions
from accounts.models import Role
from feeds import actions as feeds_actions
from feeds.events import PostReposted, RepostDeleted
from feeds.models import Post
from interactions import actions, cache, queries
from interactions.events import (
    Bookmarked,
    CommentDeleted,
    Commented,
    Liked,
    Unbookmarked,
    Unliked,
)
from interactions.models import Bookmark, Comment, Like, SubjectType
from interactions.queries import decoration
from relations.tests.helpers import at_once
from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.events import relay
from socialsite.core.events.registry import Stage, handlers

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT
WORDS = (Commented, CommentDeleted)

pytestmark = pytest.mark.django_db


@pytest.fixture
def posts(author, make_post) -> Callable[[int], list[int]]:
    """Return a function that makes posts, the oldest first."""
    return lambda count: [make_post(author).pk for _ in range(count)]


Shown = dict[int, tuple[int, int, bool, int, bool, int, bool]]
FIELDS = (
    *("like_count", "comment_count", "liked", "bookmark_count", "bookmarked"),
    *("repost_count", "reposted"),
)


def cards(ids: Iterable[int]) -> list[Any]:
    """What a decoration needs of post cards."""
    return [{"id": str(ident), "ref": None} for ident in ids]


def values(made: Iterable[Any]) -> Shown:
    return {int(card["id"]): tuple(card[name] for name in FIELDS) for card in made}


def shown(viewer: Any, ids: Iterable[int]) -> Shown:
    """Likes, comments, bookmarks, reposts and what the reader did, as cards show them."""
    return values(queries.decorate(viewer, cards(ids)))


def shown_in_a_feed(viewer: Any, ids: Sequence[int]) -> Shown:
    """The same, by a page that has the leases of all it lacks in one round trip."""
    decoration, made = queries.Decoration(None if viewer is None else viewer.pk), cards(ids)
    # Posts, then those that they repost.
    for step, some in (
        (decoration.expect, ids),
        (decoration.need, ids[:1]),
        (decoration.need, ids[1:]),
    ):
        step(some)
        reads.run(ahead=[decoration])
    decoration.apply(made)
    return values(made)


def true(viewer: Any, ids: Iterable[int]) -> Shown:
    """The same, counted from the rows."""
    likes = Like.objects.filter(subj_type=POST)
    comments = Comment.objects.filter(deleted=False, subject__subj_type=POST)
    bookmarks = Bookmark.objects.all()
    reposts = Post.objects.filter(is_deleted=False, is_removed=False)
    return {
        ident: (
            likes.filter(subj_id=ident).count(),
            comments.filter(subject__subj_id=ident).count(),
            viewer is not None and likes.filter(subj_id=ident, user_id=viewer.pk).exists(),
            bookmarks.filter(post_id=ident).count(),
            viewer is not None and bookmarks.filter(post_id=ident, user_id=viewer.pk).exists(),
            reposts.filter(ref_post_id=ident).count(),
            viewer is not None
            and reposts.filter(
                ref_post_id=ident, author_id=viewer.pk, content_row__content=""
            ).exists(),
        )
        for ident in ids
    }


def liked_hash(user: Any) -> dict[str, Any]:
    """What Redis holds of what a person did: `<like>`, `b` of those kept, `r` of those reposted."""
    found: Any = redis.call(lambda connection: connection.hgetall(cache._mine(user.pk)))
    return {
        name.decode(): int(value) if value.isdigit() else value.decode()
        for name, value in found.items()
    }


def pack(post_id: int) -> bytes | None:
    """What Redis holds of the counts of a post."""
    batch = redis.Batch()
    asked = cache.COUNTS.ask(batch, [post_id])
    batch.run()
    return asked.found.get(post_id)


def run_after_handlers(event: Any) -> None:
    """Let those hear an event who act after the commit of its database effects."""
    for handler in handlers(type(event), Stage.AFTER):
        handler(event)


def deliver() -> None:
    while relay.relay():
        pass


def after_reading(patch: pytest.MonkeyPatch, act: Callable[..., Any]) -> None:
    """Let something happen each time a reader has read the database and has not filled yet."""
    read, newest = queries.Decoration.read, decoration._newest

    def read_counts(self: Any, ids: Any) -> Any:
        found = read(self, ids)
        act()
        return found

    def read_rows(user_id: int, limit: int) -> Any:
        found = newest(user_id, limit)
        act()
        return found

    patch.setattr(queries.Decoration, "read", read_counts)
    patch.setattr(decoration, "_newest", read_rows)


# --- every writer -------------------------------------------------------------------------------
Scene = dict[str, Any]
Act = Callable[[Scene], Any]


def like(scene: Scene) -> Any:
    return actions.like(scene["actor"], POST, scene["post"])


def bookmark(scene: Scene) -> Any:
    return actions.bookmark(scene["actor"], scene["post"])


def share(scene: Scene) -> Any:
    return feeds_actions.repost(scene["actor"], scene["post"])


def quote(scene: Scene) -> Any:
    return feeds_actions.repost(scene["actor"], scene["post"], "look")


def talk(scene: Scene) -> Any:
    return actions.comment(scene["actor"], scene["post"], "hello")


def answer(scene: Scene) -> Any:
    return actions.comment(scene["actor"], scene["post"], "yes", scene["comment"])


def delete_as(role: str) -> Act:
    return lambda scene: actions.delete_comment(scene[role], scene["comment"])


# What there is before, and what is done then: every writer of what a decoration shows.
WRITERS: dict[str, tuple[Act, Act]] = {
    "like": (lambda scene: None, like),
    "unlike": (like, lambda scene: actions.unlike(scene["actor"], POST, scene["post"])),
    "bookmark": (lambda scene: None, bookmark),
    "bookmark what is liked": (like, bookmark),
    "unlike what is kept": (
        lambda scene: (like(scene), bookmark(scene)),
        lambda scene: actions.unlike(scene["actor"], POST, scene["post"]),
    ),
    "unbookmark": (bookmark, lambda scene: actions.unbookmark(scene["actor"], scene["post"])),
    "repost": (lambda scene: None, share),
    "repost with words": (lambda scene: None, quote),
    "repost what is liked and kept": (lambda scene: (like(scene), bookmark(scene)), share),
    "undo a repost": (
        share,
        lambda scene: feeds_actions.undo_repost(scene["actor"], scene["post"]),
    ),
    "delete a repost with words": (
        lambda scene: scene.update(quote=quote(scene)[0].pk),
        lambda scene: feeds_actions.delete(scene["actor"], scene["quote"]),
    ),
    "delete a repost as staff": (
        lambda scene: scene.update(share=share(scene)[0].pk),
        lambda scene: feeds_actions.delete(scene["staff"], scene["share"]),
    ),
    "comment": (lambda scene: None, talk),
    "answer": (lambda scene: None, answer),
    "delete one's comment": (lambda scene: None, delete_as("actor")),
    "delete as the post's author": (lambda scene: None, delete_as("author")),
    "delete as staff": (lambda scene: None, delete_as("staff")),
}


@pytest.fixture(params=WRITERS)
def writer(request, make_user, author, posts) -> tuple[int, list[Any], Callable[[], Any]]:
    """A post whose counts and likes are cached for these readers, and something that changes it."""
    before, act = WRITERS[request.param]
    (post,) = posts(1)
    actor, staff = make_user(), accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    scene = {"post": post, "actor": actor, "author": author, "staff": staff}
    scene["comment"] = actions.comment(actor, post, "first").pk
    before(scene)
    viewers = [actor, author, None]
    deliver()
    for viewer in viewers:
        shown(viewer, [post])
    assert pack(post) is not None
    assert liked_hash(actor)["threshold"] == 0
    return post, viewers, partial(act, scene)


def read_all(viewers: list[Any], post: int, read: Callable[..., Shown]) -> list[Shown]:
    return [read(viewer, [post]) for viewer in viewers]


@pytest.mark.embedded
def test_each_change_of_a_count_or_a_like_invalidates_it(writer) -> None:
    post, viewers, act = writer
    before = read_all(viewers, post, shown)
    act()
    assert read_all(viewers, post, shown) == read_all(viewers, post, true) != before


def test_a_rollback_leaves_the_cache_unchanged(writer, django_assert_num_queries) -> None:
    post, viewers, act = writer
    before = read_all(viewers, post, shown)
    with transaction.atomic():
        act()
        assert read_all(viewers, post, shown) == read_all(viewers, post, true) != before
        transaction.set_rollback(True)
    with django_assert_num_queries(0):
        assert read_all(viewers, post, shown) == before


def test_reads_in_a_transaction_are_not_cached(writer) -> None:
    post, viewers, act = writer
    redis.call(lambda connection: connection.flushdb())
    with transaction.atomic():
        act()
        read_all(viewers, post, shown)
        transaction.set_rollback(True)
    assert redis.call(lambda connection: connection.dbsize()) == 0


def test_the_event_invalidates_the_cache_of_a_process_that_died_after_the_commit(
    writer, django_capture_on_commit_callbacks
) -> None:
    post, viewers, act = writer
    with django_capture_on_commit_callbacks():  # nothing runs on commit
        act()
    assert read_all(viewers, post, shown) != read_all(viewers, post, true)
    deliver()
    assert read_all(viewers, post, shown) == read_all(viewers, post, true)


@pytest.mark.embedded
def test_a_change_between_reading_and_filling_refuses_the_fill(writer, monkeypatch) -> None:
    post, viewers, act = writer
    redis.call(lambda connection: connection.flushdb())
    for number, viewer in enumerate(viewers):
        waiting = [act] if number == 0 else []
        with monkeypatch.context() as patch:
            after_reading(patch, lambda waiting=waiting: waiting and waiting.pop()())
            shown_in_a_feed(viewer, [post])
        assert waiting == []
        assert read_all(viewers, post, shown) == read_all(viewers, post, true)


def test_a_fill_between_commit_and_invalidation_does_not_last(
    writer, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    post, viewers, act = writer
    redis.call(lambda connection: connection.flushdb())
    with django_capture_on_commit_callbacks(execute=True):
        waiting = [act]
        with monkeypatch.context() as patch:
            after_reading(patch, lambda: waiting and waiting.pop()())
            read_all(viewers, post, shown)
    assert read_all(viewers, post, shown) == read_all(viewers, post, true)


def test_without_redis_all_is_right_and_a_later_redis_has_nothing_old(writer, dead_redis) -> None:
    post, viewers, act = writer
    with dead_redis():
        act()
        assert read_all(viewers, post, shown) == read_all(viewers, post, true)
    assert read_all(viewers, post, shown) == read_all(
        viewers, post, true
    )  # Redis is back, with old values


@pytest.mark.parametrize("event", [Liked, Unliked])
def test_the_event_of_a_like_invalidates_the_counts_and_the_likes_of_its_person(
    event, author, reader, posts
) -> None:
    post, other = posts(2)
    for viewer in (author, reader):
        shown(viewer, [post, other])

    run_after_handlers(event(id=1, subj_type=COMMENT, subj_id=post, user_id=reader.pk))
    assert pack(post) is not None
    run_after_handlers(event(id=1, subj_type=POST, subj_id=post, user_id=reader.pk))
    assert (pack(post), liked_hash(reader)) == (None, {})
    assert pack(other) is not None
    assert liked_hash(author)


@pytest.mark.parametrize("event", [Bookmarked, Unbookmarked])
def test_the_event_of_a_bookmark_invalidates_the_count_and_the_actions_of_its_person(
    event, reader, posts
) -> None:
    (post,) = posts(1)
    shown(reader, [post])
    run_after_handlers(event(post_id=post, user_id=reader.pk))
    assert (pack(post), liked_hash(reader)) == (None, {})


@pytest.mark.parametrize("event", [PostReposted, RepostDeleted])
def test_the_event_of_a_repost_invalidates_the_count_and_the_actions_of_its_person(
    event, reader, posts
) -> None:
    (post,) = posts(1)
    shown(reader, [post])
    for handler in handlers(event, Stage.AFTER):
        handler(event(id=1, author_id=reader.pk, ref_id=post, ref_author_id=2))
    assert (pack(post), liked_hash(reader)) == (None, {})


@pytest.mark.parametrize("event", WORDS)
def test_the_event_of_a_comment_invalidates_the_counts(event, reader, posts) -> None:
    (post,) = posts(1)
    shown(reader, [post])
    run_after_handlers(event(id=1, post_id=post, author_id=reader.pk, parent_id=None))
    assert pack(post) is None
    assert liked_hash(reader)


def test_a_like_of_a_comment_invalidates_only_the_likes_of_its_thread(
    author, reader, posts, round_trips
) -> None:
    (post,) = posts(1)
    comment = actions.comment(author, post, "hello").pk
    shown(reader, [post])
    round_trips.clear()
    actions.like(reader, COMMENT, comment)
    actions.unlike(reader, COMMENT, comment)
    assert len(round_trips) == 2
    assert pack(post) is not None
    assert liked_hash(reader)


# --- what it costs ------------------------------------------------------------------------------
def test_twenty_cached_cards_cost_one_round_trip_and_no_query(
    author, reader, posts, round_trips, django_assert_num_queries
) -> None:
    ids = posts(20)
    for post in ids[::3]:
        actions.like(reader, POST, post)
        actions.comment(author, post, "hello")
    for viewer in (reader, None):
        shown(viewer, ids)
        round_trips.clear()
        with django_assert_num_queries(0):
            found = shown(viewer, ids)
        assert len(round_trips) == 1
        assert found == true(viewer, ids)


def test_a_feed_caches_the_lists_it_leased(reader, posts, django_assert_num_queries) -> None:
    ids = posts(4)
    actions.like(reader, POST, ids[0])
    for viewer, most in ((reader, 2), (None, 1)):
        redis.call(lambda connection: connection.flushdb())
        for queries_made in (most, 0):
            with django_assert_num_queries(queries_made):
                found = shown_in_a_feed(viewer, ids)
            assert found == true(viewer, ids)


def test_a_cache_miss_costs_two_queries_at_most(
    author, reader, posts, monkeypatch, django_assert_num_queries, dead_redis
) -> None:
    ids = posts(12)
    for post in ids[::2]:
        actions.like(reader, POST, post)
    for kept in (3, 500):  # likes that are not all cached, and all
        monkeypatch.setattr(cache, "MINE_MAX", kept)
        redis.call(lambda connection: connection.flushdb())
        with django_assert_num_queries(2):
            found = shown(reader, ids)
        assert found == true(reader, ids)
        redis.invalidate([cache.COUNTS.key(ident) for ident in ids[:4]])
        with django_assert_num_queries(1):
            found = shown(reader, ids)
        assert found == true(reader, ids)
    with dead_redis(), django_assert_num_queries(1):
        found = shown(reader, ids)
    assert found == true(reader, ids)
    redis.call(lambda connection: connection.flushdb())
    with django_assert_num_queries(1):
        shown(None, ids)


def test_posts_are_read_in_several_batches_or_none(
    author, reader, posts, round_trips, django_assert_num_queries
) -> None:
    first, second, never, inside = posts(4)
    for post in (first, never, inside):
        actions.like(reader, POST, post)
    shown(reader, [first, second, inside])
    round_trips.clear()
    decoration = queries.Decoration(reader.pk)
    for ids in ([first], [], [second]):
        decoration.expect(ids)
        reads.ask(decoration)
    assert len(round_trips) == 2
    outer = cards([first, second, never])
    outer[1]["ref"] = cards([inside])[0]
    with django_assert_num_queries(1):  # of those never asked for
        decoration.apply(outer)
    every = [*outer, outer[1]["ref"]]
    assert values(every) == true(reader, [first, second, never, inside])
    nothing = queries.Decoration(reader.pk)
    with django_assert_num_queries(0):
        nothing.apply([])


def test_a_like_costs_one_round_trip(reader, posts, round_trips) -> None:
    (post,) = posts(1)
    round_trips.clear()
    assert actions.like(reader, POST, post) == 1
    assert len(round_trips) == 1
    actions.like(reader, POST, post)  # changes nothing
    assert len(round_trips) == 1


@pytest.mark.embedded
# --- the threshold ------------------------------------------------------------------------------
def test_likes_are_complete_above_the_threshold_and_queried_below(
    reader, posts, monkeypatch, django_assert_num_queries
) -> None:
    monkeypatch.setattr(cache, "MINE_MAX", 3)
    ids = posts(9)
    for post in (ids[7], ids[5], ids[3], ids[1], ids[0]):  # the order of the likes does not matter
        actions.like(reader, POST, post)
    shown(reader, ids)
    kept = liked_hash(reader)
    assert kept.pop("threshold") == ids[1]
    rows = Like.objects.filter(user_id=reader.pk, subj_id__in=[ids[7], ids[5], ids[3]])
    assert kept == {str(row.subj_id): row.pk for row in rows}
    with django_assert_num_queries(0):
        found = shown(reader, ids[2:])
    assert found == true(reader, ids[2:])
    with django_assert_num_queries(1):
        found = shown(reader, ids)
    assert found == true(reader, ids)


@pytest.mark.embedded
def test_bookmarks_and_reposts_share_the_threshold_that_is_the_higher_one(
    reader, posts, monkeypatch, django_assert_num_queries
) -> None:
    monkeypatch.setattr(cache, "MINE_MAX", 2)
    ids = posts(8)
    for post in (ids[0], ids[4], ids[6]):
        actions.like(reader, POST, post)
    for post in (ids[3], ids[4], ids[5], ids[7]):
        actions.bookmark(reader, post)
    feeds_actions.repost(reader, ids[6])
    feeds_actions.repost(reader, ids[7])
    feeds_actions.repost(reader, ids[5], "with words")
    shown(reader, ids)
    kept = liked_hash(reader)
    # Of likes 4 and 6 are whole above 0, of bookmarks 5 and 7 above 4.
    assert kept.pop("threshold") == ids[4]
    like = Like.objects.get(user_id=reader.pk, subj_id=ids[6])
    assert kept == {str(ids[5]): "b", str(ids[6]): f"{like.pk}r", str(ids[7]): "br"}
    for some, queries_made in ((ids[5:], 0), (ids, 1)):
        with django_assert_num_queries(queries_made):
            found = shown(reader, some)
        assert found == true(reader, some)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_likes_that_are_not_cut_off_have_no_threshold(
    reader, posts, monkeypatch, django_assert_num_queries, count
) -> None:
    monkeypatch.setattr(cache, "MINE_MAX", 3)
    ids = posts(5)
    for post in ids[:count]:
        actions.like(reader, POST, post)
    shown(reader, ids)
    assert liked_hash(reader)["threshold"] == 0
    with django_assert_num_queries(0):
        found = shown(reader, ids)
    assert found == true(reader, ids)


def test_likes_of_comments_take_no_part(author, reader, posts) -> None:
    (post,) = posts(1)
    comment = actions.comment(author, post, "hello").pk
    actions.like(reader, COMMENT, comment)
    assert shown(reader, [post, comment])[comment] == (0, 0, False, 0, False, 0, False)
    assert liked_hash(reader) == {"threshold": 0}


# --- leases and losses --------------------------------------------------------------------------
def test_while_somebody_fills_the_likes_the_database_answers(reader, posts, monkeypatch) -> None:
    ids = posts(3)
    actions.like(reader, POST, ids[0])
    seen: list[Shown] = []
    waiting = [lambda: seen.append(shown(reader, ids))]
    with monkeypatch.context() as patch:
        after_reading(patch, lambda: waiting and waiting.pop()())
        shown(reader, ids)
    assert seen == [true(reader, ids)]
    assert liked_hash(reader)["threshold"] == 0  # the first one's


def test_a_late_fill_does_not_replace_the_likes_of_a_later_reader(
    reader, posts, monkeypatch
) -> None:
    ids = posts(2)

    def like_and_read() -> None:
        actions.like(reader, POST, ids[0])
        shown(reader, ids)

    waiting = [like_and_read]
    with monkeypatch.context() as patch:
        after_reading(patch, lambda: waiting and waiting.pop()())
        shown(reader, ids)
    assert set(liked_hash(reader)) == {"threshold", str(ids[0])}
    assert shown(reader, ids) == true(reader, ids)


@pytest.mark.embedded
def test_values_read_before_redis_was_emptied_are_not_cached(reader, posts, monkeypatch) -> None:
    ids = posts(2)
    actions.like(reader, POST, ids[1])
    with monkeypatch.context() as patch:
        after_reading(patch, lambda: redis.call(lambda connection: connection.flushdb()))
        assert shown(reader, ids) == true(reader, ids)
    assert redis.call(lambda connection: connection.dbsize()) == 0


def test_a_redis_that_dies_before_the_fill_does_no_harm(
    reader, posts, monkeypatch, dead_redis
) -> None:
    ids = posts(2)
    actions.like(reader, POST, ids[1])
    with contextlib.ExitStack() as stack, monkeypatch.context() as patch:
        after_reading(patch, lambda: stack.enter_context(dead_redis()))
        assert shown(reader, ids) == true(reader, ids)
    kind = redis.call(lambda connection: connection.type(cache._mine(reader.pk)))
    assert kind == b"string"  # the lease
    assert shown(reader, ids) == true(reader, ids)


@pytest.mark.embedded
def test_cached_values_and_leases_expire(reader, posts, monkeypatch, real_lifetimes) -> None:
    (post,) = posts(1)
    keys = [cache._mine(reader.pk), cache.COUNTS.key(post)]

    def left() -> list[int]:
        return [redis.call(methodcaller("pttl", key)) for key in keys]

    leases: list[list[int]] = []
    with monkeypatch.context() as patch:
        after_reading(patch, lambda: leases.append(left()))
        shown(reader, [post])
    assert 0 < leases[0][0] <= 5_000
    assert 0 < leases[1][1] <= 5_000
    assert 5_000 < left()[0] <= 3_600_000
    assert 5_000 < left()[1] <= 600_000


def test_an_emptied_redis_is_filled_anew(reader, posts, django_assert_num_queries) -> None:
    ids = posts(3)
    actions.like(reader, POST, ids[1])
    shown(reader, ids)
    redis.call(lambda connection: connection.flushdb())
    assert shown(reader, ids) == true(reader, ids)
    with django_assert_num_queries(0):
        shown(reader, ids)


# --- any history --------------------------------------------------------------------------------
PEOPLE, POSTS = range(2), range(4)
DOES = st.one_of(
    st.tuples(st.just("like"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("unlike"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("bookmark"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("unbookmark"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("repost"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("undo_repost"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("comment"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("delete"), st.sampled_from(PEOPLE), st.integers(0, 5)),
    st.tuples(st.just("evict counts"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("evict likes"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("empty"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
    st.tuples(st.just("die"), st.sampled_from(PEOPLE), st.sampled_from(POSTS)),
)
# A reader, and what happens after each of its two readings of the database, before it fills.
READS = st.tuples(
    st.just("read"), st.sampled_from(PEOPLE), st.lists(DOES, max_size=3), st.lists(DOES, max_size=2)
)


class World:
    """Some people, some posts, and what is done to them in one history."""

    def __init__(self, people: list[Any], posts: list[int]) -> None:
        self.people, self.posts = people, posts
        self.comments: list[tuple[Any, int]] = []

    def do(self, what: str, who: int, which: Any, later: Any = ()) -> None:
        person = self.people[who]
        if what == "read":
            self.read(person, [*which], [*later])
        elif what in ("like", "unlike"):
            getattr(actions, what)(person, POST, self.posts[which])
        elif what in ("bookmark", "unbookmark"):
            getattr(actions, what)(person, self.posts[which])
        elif what in ("repost", "undo_repost"):
            getattr(feeds_actions, what)(person, self.posts[which])
        elif what == "comment":
            made = actions.comment(person, self.posts[which], "hello")
            self.comments.append((person, made.pk))
        elif what == "delete" and which < len(self.comments):
            actions.delete_comment(*self.comments.pop(which))
        elif what == "evict counts":
            redis.call(lambda connection: connection.delete(cache.COUNTS.key(self.posts[which])))
        elif what == "evict likes":
            redis.call(lambda connection: connection.delete(cache._mine(person.pk)))
        elif what == "empty":
            redis.call(lambda connection: connection.flushdb())
        elif what == "die":
            self.die(person, self.posts[which])

    def read(self, person: Any, first: list[Any], second: list[Any]) -> None:
        """Read while these steps are done; held to the truth when nothing is done meanwhile."""
        waiting = [second, first]
        quiet = not first and not second
        with pytest.MonkeyPatch.context() as patch:
            after_reading(patch, lambda: [self.do(*step) for step in waiting and waiting.pop()])
            found = shown(person, self.posts)
        if quiet:
            assert found == true(person, self.posts)

    def die(self, person: Any, post: int) -> None:
        """Like or unlike; the process dies after the commit, and the event comes soon after."""
        liked = Like.objects.filter(subj_type=POST, subj_id=post, user_id=person.pk).exists()
        act, told = (actions.unlike, Unliked) if liked else (actions.like, Liked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "post_changed", lambda *args: None)
            act(person, POST, post)
        run_after_handlers(told(id=1, subj_type=POST, subj_id=post, user_id=person.pk))

    def check(self) -> None:
        for person in self.people:
            assert shown(person, self.posts) == true(person, self.posts)  # filled, and then warm
            assert shown(person, self.posts) == true(person, self.posts)


@pytest.mark.full
@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.one_of(DOES, READS), min_size=4, max_size=25), kept=st.integers(0, 4))
def test_any_history_shows_the_state_of_the_tables(
    make_user: Any, make_post: Any, steps: list[Any], kept: int
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(cache, "MINE_MAX", kept)
        people = [make_user() for _ in PEOPLE]
        world = World(people, [make_post(people[0]).pk for _ in POSTS])
        for step in steps:
            world.do(*step)
        world.check()


# --- real threads -------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_each_of_many_writers_sees_its_own_writes_at_once(make_user, make_post) -> None:
    people = [make_user() for _ in range(4)]
    ids = [make_post(people[0]).pk for _ in range(3)]
    stale: list[Any] = []

    def live(number: int) -> None:
        dice, person = random.Random(number), people[number]
        for _ in range(60):
            post = dice.choice(ids)
            step = dice.randrange(6)
            if step == 0:
                actions.comment(person, post, "hello")
            elif step <= 2:
                act, liked = dice.choice([(actions.like, True), (actions.unlike, False)])
                act(person, POST, post)
                if shown(person, ids)[post][2] != liked:
                    stale.append((person, post, liked))
            elif step == 3:
                keeps = dice.random() < 0.5
                (actions.bookmark if keeps else actions.unbookmark)(person, post)
                if shown(person, ids)[post][4] != keeps:
                    stale.append((person, post, "bookmark"))
            elif step == 4:
                redis.invalidate([dice.choice([cache._mine(person.pk), cache.COUNTS.key(post)])])
            else:
                shown(dice.choice(people), ids)

    for result in at_once([partial(live, number) for number in range(4)]):
        assert not isinstance(result, Exception), result
    assert stale == []
    for person in people:
        assert shown(person, ids) == true(person, ids)
        assert shown(person, ids) == true(person, ids)
