"""Cached readers: packed and unpacked they are the same, and no change leaves an old one in use."""

import functools
import itertools
from collections.abc import Callable
from datetime import timedelta
from operator import methodcaller
from typing import Any
from unittest import mock

import orjson
import pytest
from django.conf import LazySettings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts.models import User
from feeds import actions, cache, queries, readers, tiers
from feeds.cache import timeline
from feeds.cards import hydration
from feeds.delivery.fanout import deliver, plan
from feeds.delivery.inbox import sync, trim
from feeds.home import sources
from feeds.home.page import HomeReading
from feeds.models import FanOut, InboxEdge, InboxState, Mode
from feeds.readers import Reader
from feeds.tests.exactness.oracle import assert_exact
from feeds.tests.home.reads import at_a_read_of
from relations import actions as relations_actions
from relations import queries as relations_queries
from socialsite.core import db, redis
from socialsite.core.cache import reads
from socialsite.core.cache.lease import Lookup, _tag
from socialsite.core.ids import MAX_ID
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]

identities = st.integers(1, MAX_ID)
A_READER = st.builds(
    Reader,
    st.just(7),
    st.frozensets(identities, max_size=6),
    st.frozensets(identities, max_size=3),
    st.dictionaries(identities, st.integers(1, MAX_ID), max_size=4),
    st.integers(0, 2**53),
    st.integers(0, 2**50),
)


def cached(person: User) -> Reader | None:
    """Return the reader as they are cached now, without reading the database."""
    reads.ask(asked := readers.ReaderRead(person.pk))
    return asked.known


@given(A_READER, st.binary(min_size=1, max_size=40))
def test_a_reader_that_was_packed_comes_back_the_same(reader: Reader, standing: bytes) -> None:
    packed = readers._pack(reader)
    assert readers._unpack(7, packed) == reader
    others = (standing + b"x", standing[:-1], b"y" * len(standing) if standing[0] != 121 else b"z")
    for token in (standing, *others):
        asked = Lookup([7], b"=")
        asked.take_tagged([token, b"=" + _tag(standing) + packed])
        assert asked.found == ({7: packed} if token == standing else {})


def test_a_process_drops_readers_before_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = readers._pack(Reader(7, frozenset(range(1, 101))))
    monkeypatch.setattr(readers._unpacked, "max_bytes", 3 * len(packed))
    readers._unpacked.clear()
    for viewer_id in range(1, 9):
        found = readers._unpack(viewer_id, packed)
        assert found is not None
        assert readers._unpack(viewer_id, packed) is found
        assert len(readers._unpacked) <= 3


def test_a_process_bounds_the_memory_of_long_articles() -> None:
    hydration._unpacked.clear()
    for ident in range(100):
        packed = orjson.dumps({"author": 1, "card": {"content": "长" * 50_000 + str(ident)}})
        found = hydration._unpack(ident, packed)
        assert hydration._unpack(ident, packed) is found
    kept = sum(len(packed) for packed, _ in hydration._unpacked.values())
    assert len(packed) <= kept <= hydration._unpacked.max_bytes < 100 * len(packed)


def test_a_reader_is_read_once_and_then_cached_with_all_there_is_to_know(
    reader: User,
    author: User,
    make_user: Make,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    django_assert_num_queries: Make,
) -> None:
    settings.BACKFILL_MAX, settings.INBOX_MAX = 2, 3
    fresh, blocked = make_user(), make_user()
    relations_actions.block(reader, blocked)
    for at in range(1000, 6000, 1000):
        make_post(author, at_ms=at)
    relations_actions.follow(reader, author)
    drain()
    for at in range(11_000, 16_000, 1000):
        make_post(author, at_ms=at)
        drain()
    relations_actions.follow(reader, fresh)  # its backfill is not done
    found = readers.reader_of(reader.pk)
    assert found.follows == {author.pk, fresh.pk}
    assert found.blocked == {blocked.pk}
    assert found.incomplete == {author.pk: 3000, fresh.pk: MAX_ID}
    state = InboxState.objects.get(pk=reader.pk)
    assert (found.inbox_floor, found.generation) == (state.inbox_floor, state.generation)
    assert found.inbox_floor > 10_000
    assert found == readers.read_uncached(reader.pk)
    with django_assert_num_queries(0):
        assert readers.reader_of(reader.pk) == found


def test_a_block_applies_to_somebody_unbanned_while_the_page_is_built(
    reader: User, author: User, make_user: Make, make_post: Make
) -> None:
    """The reader was read while the other was banned, the other's card after it (T42)."""
    blocked = make_user()
    actions.repost(author, make_post(blocked).pk)
    relations_actions.follow(reader, author)
    relations_actions.block(reader, blocked)
    accounts_actions.ban(blocked)
    reading = HomeReading(reader.pk, None, 20)
    assert reading.reader.follows == {author.pk}
    accounts_actions.unban(User.objects.get(pk=blocked.pk))
    assert [card["ref_gone"] for card in reading.page().items] == [True]


def follow(reader: User, author: User) -> None:
    relations_actions.follow(reader, author)


CHANGES: dict[str, tuple[Callable[[User, User], Any], Callable[[User, User], Any]]] = {
    "follow": (lambda reader, author: None, follow),
    "unfollow": (follow, relations_actions.unfollow),
    "block": (follow, relations_actions.block),
    "block of a stranger": (lambda reader, author: None, relations_actions.block),
    "blocked by a stranger": (
        lambda reader, author: None,
        lambda reader, author: relations_actions.block(author, reader),
    ),
    "blocked": (follow, lambda reader, author: relations_actions.block(author, reader)),
    "unblock": (relations_actions.block, relations_actions.unblock),
    "unblocked": (
        lambda reader, author: relations_actions.block(author, reader),
        lambda reader, author: relations_actions.unblock(author, reader),
    ),
    "ban": (follow, lambda reader, author: accounts_actions.ban(author)),
    "unban": (
        lambda reader, author: (follow(reader, author), accounts_actions.ban(author)),
        lambda reader, author: accounts_actions.unban(User.objects.get(pk=author.pk)),
    ),
}


@pytest.mark.embedded
@pytest.mark.parametrize("change", CHANGES)
def test_no_reader_is_old_once_a_change_was_answered(
    change: str, reader: User, author: User, make_user: Make, make_post: Make, drain: Make
) -> None:
    """Of the one who changes, of the other side, and of a fill under way meanwhile (T45)."""
    before, act = CHANGES[change]
    before(reader, author)
    drain()
    make_post(author)
    make_post(reader)
    read = readers.read_uncached

    for one in (reader, author):
        readers.reader_of(one.pk)
        assert cached(one) is not None
    act(reader, author)
    for one in (reader, author):
        assert cached(one) in (None, read(one.pk))
        assert readers.reader_of(one.pk) == read(one.pk)
        assert_exact(one)
    drain()
    for one in (reader, author):
        assert readers.reader_of(one.pk) == read(one.pk)
        assert_exact(one)


@pytest.mark.parametrize("change", CHANGES)
def test_a_reader_read_before_a_change_is_not_cached_after_it(
    change: str,
    reader: User,
    author: User,
    drain: Make,
) -> None:
    before, act = CHANGES[change]
    before(reader, author)
    drain()
    redis.call(lambda connection: connection.flushdb())
    readers.reader_of(author.pk)  # somebody has begun a token of the standing
    with at_a_read_of("relations_relationship", lambda: act(reader, author), after=True):
        readers.reader_of(reader.pk)
    read = readers.read_uncached
    assert cached(reader) in (None, read(reader.pk))
    assert readers.reader_of(reader.pk) == read(reader.pk)
    assert_exact(reader)


def test_the_end_and_the_removal_of_a_backfill_renew_the_reader(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    make_post(author)
    relations_actions.follow(reader, author)
    assert readers.reader_of(reader.pk).incomplete == {author.pk: MAX_ID}
    drain()
    assert readers.reader_of(reader.pk).incomplete == {}
    assert InboxEdge.objects.get(viewer=reader).backfilled_from == 0
    relations_actions.unfollow(reader, author)
    relations_actions.follow(reader, author)
    assert readers.reader_of(reader.pk).incomplete == {author.pk: MAX_ID}


def test_an_inbox_that_is_trimmed_behind_a_cached_reader_is_exact(
    reader: User, author: User, make_post: Make, drain: Make, settings: LazySettings
) -> None:
    """The reader keeps the floor and the generation of before; the tables say how it is now."""
    relations_actions.follow(reader, author)
    drain()
    for at in range(1000, 9000, 1000):
        make_post(author, at_ms=at)
    drain()
    lost: list[tuple[str, ...]] = [(), ("inbox2",), ("reader",), ("inbox2", "reader")]
    for size, keys in itertools.product((5, 3), lost):
        assert_exact(reader)
        settings.INBOX_MAX = size
        trim.trim(reader.pk)
        for key in keys:
            redis.call(methodcaller("delete", f"{key}:{reader.pk}"))
        assert_exact(reader)
        make_post(author)
        drain()
        assert_exact(reader)


def test_a_standing_that_is_lost_makes_readers_unknown_not_old(
    reader: User, author: User, django_assert_num_queries: Make
) -> None:
    relations_actions.follow(reader, author)
    readers.reader_of(reader.pk)
    redis.call(lambda connection: connection.delete(accounts_queries.STANDING.key))
    accounts_actions.ban(author)
    assert cached(reader) is None
    for _ in range(2):  # the first begins a new token, the second caches with it
        assert readers.reader_of(reader.pk).follows == frozenset()
    with django_assert_num_queries(0):
        assert readers.reader_of(reader.pk).follows == frozenset()


# --- without Redis ------------------------------------------------------------------------------
@pytest.fixture
def world(make_user: Make, make_post: Make, drain: Make, settings: LazySettings) -> dict[str, User]:
    """Readers of all kinds: pushed to, pulling, trimmed, blocked, with posts on their way."""
    settings.BACKFILL_MAX, settings.INBOX_MAX, settings.FANOUT_CHUNK = 2, 6, 2
    names = ["pushed", "famous", "banned", "new", "trimmed", "blocker", "blocked", "left", "nobody"]
    found = {name: make_user() for name in names}
    writers = [found[name] for name in ("pushed", "famous", "banned")]
    for number in range(3):
        for writer in writers:
            make_post(writer, at_ms=1000 * (number + 1))
    for name in ("new", "trimmed", "blocker", "blocked", "left", "pushed"):
        for writer in writers:
            if found[name] != writer:
                relations_actions.follow(found[name], writer)
    drain()
    for number in range(4):
        for writer in writers:
            settings.PUSH_ALL_MAX = 0 if writer == found["famous"] and number % 2 else 5000
            settings.PUSH_ACTIVE_MAX = 0 if number == 1 else 5000
            visibility = "followers" if number == 3 else "public"
            make_post(writer, at_ms=7000 + 1000 * (number // 2), visibility=visibility)
    drain()
    settings.PUSH_ALL_MAX = 5000
    trim.trim(found["trimmed"].pk)
    relations_actions.block(found["blocker"], found["famous"])
    relations_actions.block(found["pushed"], found["blocked"])
    relations_actions.unfollow(found["left"], found["pushed"])
    accounts_actions.ban(found["banned"])
    relations_actions.follow(found["nobody"], found["famous"])  # its backfill waits
    post = make_post(found["pushed"])  # planned, half of it delivered
    plan.write(post.pk)
    deliver.run_chunk(plan.open_chunks(post.pk)[0])
    make_post(found["famous"])  # not even planned
    assert post.mode == Mode.ALL
    return found


@pytest.mark.embedded
@pytest.mark.parametrize("size", [1, 3, 20])
def test_without_redis_every_kind_of_reader_has_the_same_feed(
    world: dict[str, User], dead_redis: Make, size: int
) -> None:
    for person in world.values():
        assert_exact(person, size)  # fills the caches
    with dead_redis():
        for person in world.values():
            assert_exact(person, size)
    for person in world.values():
        assert_exact(person, size)


def test_writes_without_redis_are_visible_at_once_during_and_after_the_outage(
    world: dict[str, User], make_post: Make, drain: Make, dead_redis: Make
) -> None:
    """Every cache was warm before; missed invalidations are in the backlog."""
    for person in world.values():
        assert_exact(person)
    newest = queries.home_feed(world["new"], None, 20).items[0]
    writer = User.objects.get(pk=newest["author"]["id"])
    with dead_redis():
        for name in ("pushed", "famous"):
            make_post(world[name])
        actions.delete(writer, int(newest["id"]))
        relations_actions.unfollow(world["new"], world["pushed"])
        relations_actions.follow(world["left"], world["pushed"])
        relations_actions.unblock(world["blocker"], world["famous"])
        relations_actions.block(world["trimmed"], world["famous"])
        accounts_actions.unban(User.objects.get(pk=world["banned"].pk))
        for person in world.values():
            assert_exact(person)
    for person in world.values():
        assert_exact(person)
    drain()
    for person in world.values():
        assert_exact(person)


@pytest.mark.embedded
# --- lists that reach less far than the page (T48) -----------------------------------------------
@pytest.mark.parametrize("kind", ["inbox", "outbox", "own", "open"])
@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_a_page_beyond_the_cached_entries_continues_from_the_tables(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    size: int,
) -> None:
    settings.MAX_CACHED_POST_SIZE, settings.MIN_CACHED_POST_SECONDS = 3, 0
    monkeypatch.setattr(timeline, "CAP", 4)
    relations_actions.follow(reader, author)
    drain()
    settings.PUSH_ALL_MAX = settings.PUSH_ACTIVE_MAX = 0 if kind == "outbox" else 5000
    for _ in range(12):
        make_post(reader if kind == "own" else author)
    if kind != "open":
        drain()
    for _ in range(2):  # the first fills the lists
        assert_exact(reader, size)
    owner = reader if kind in ("inbox", "own") else author
    cached_list = cache.INBOX if kind == "inbox" else cache.OUTBOX
    asked = timeline.Runs(cached_list, None, 100, [owner.pk])
    reads.ask(asked, opened := sources.OpenFanOuts(None))
    if kind == "open":
        assert opened.is_cached
        assert (len(opened.posts), opened.are_all) == (3, False)
    else:
        run = asked.known[owner.pk]
        assert (len(run.entries), run.ends) == (3, False)


def test_a_lost_inbox_is_cached_again_while_not_all_open_fan_outs_are(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MAX_CACHED_POST_SIZE, settings.MIN_CACHED_POST_SECONDS = 3, 0
    monkeypatch.setattr(timeline, "CAP", 4)
    relations_actions.follow(reader, author)
    make_post(author)
    drain()
    for _ in range(12):
        make_post(author)
    assert_exact(reader, 20)
    reads.ask(opened := sources.OpenFanOuts(None))
    assert opened.is_cached
    assert not opened.are_all
    cache.INBOX.invalidate([reader.pk])
    assert_exact(reader, 20)
    reads.ask(inbox := timeline.Runs(cache.INBOX, None, 100, [reader.pk]))
    assert inbox.known.keys() == {reader.pk}


# --- generations --------------------------------------------------------------------------------
def backfill(viewer_id: int) -> None:
    """Bring an inbox in line with all follows of its reader."""
    for author_id in relations_queries.following_ids(viewer_id):
        sync.sync_inbox(viewer_id, author_id)


def test_an_inbox_cached_after_a_reader_was_read_is_not_used_with_that_reader(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was trimmed meanwhile, which the reader of before does not know."""
    relations_actions.follow(reader, author)
    drain()
    for at in range(1000, 9000, 1000):
        make_post(author, at_ms=at)
    drain()
    assert_exact(reader, 20)
    redis.call(lambda connection: connection.delete("fanouts2:0"))  # so the inbox is asked again
    settings.INBOX_MAX = 3

    def trim_and_fill() -> None:
        trim.trim(reader.pk)
        keys = [f"reader:{reader.pk}", f"inbox2:{reader.pk}"]
        redis.call(lambda connection: connection.delete(*keys))
        with mock.patch.object(redis._later, "commands", None):  # as in another process
            queries.home_feed(reader, None, 20)  # fills both

    with at_a_read_of("feeds_fanout", trim_and_fill):
        assert len(queries.home_feed(reader, None, 20).items) == 8


@pytest.mark.parametrize("change", [trim.trim, backfill])
@pytest.mark.parametrize("is_after", [True, False])
@pytest.mark.parametrize("step_ms", [0, 1000])
@pytest.mark.parametrize("lost", ["*", "inbox*"])
def test_a_change_just_before_or_after_an_inbox_was_read_for_the_cache_loses_nothing(
    reader: User,
    author: User,
    make_post: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[int], object],
    is_after: bool,
    step_ms: int,
    lost: str,
) -> None:
    """The rows bring along of which generation they are; of one ms, a trim leaves none."""
    relations_actions.follow(reader, author)
    for number in range(8):
        make_post(author, at_ms=1000 + number * step_ms)
    if change is trim.trim:
        backfill(reader.pk)
    FanOut.objects.all().delete()
    redis.call(lambda connection: connection.flushdb())
    queries.home_feed(reader, None, 20)
    redis.call(lambda connection: connection.delete(*connection.keys(lost)))
    settings.INBOX_MAX = 3

    def change_and_die() -> None:
        with mock.patch.object(cache, "changed_inbox"):  # its process dies before the invalidation
            change(reader.pk)

    with at_a_read_of("feeds_inboxentry", change_and_die, after=is_after):
        assert len(queries.home_feed(reader, None, 20).items) == 8
    assert_exact(reader, 20)
    redis.call(lambda connection: connection.delete(f"reader:{reader.pk}"))  # a minute passes
    assert_exact(reader, 20)


def test_a_cached_inbox_is_read_again_after_open_fanouts_were_queried(
    reader: User, author: User, make_post: Make, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What says "it is pushed" must not be newer than the inbox."""
    relations_actions.follow(reader, author)
    drain()
    assert_exact(reader)
    post = make_post(author)
    redis.call(lambda connection: connection.delete("fanouts2:0"))
    with at_a_read_of("feeds_fanout", drain):
        page = queries.home_feed(reader, None, 20)
    assert [card["id"] for card in page.items] == [str(post.pk)]


@pytest.mark.parametrize("lost", ["nothing", "fanouts*", "inbox*", "reader:*", "*"])
@pytest.mark.parametrize("is_after", [True, False])
def test_no_open_fanout_beyond_the_cached_ones_is_lost_during_delivery(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
    is_after: bool,
) -> None:
    monkeypatch.setattr(timeline, "CAP", 2)
    monkeypatch.setattr(timeline, "SLACK", 0)
    relations_actions.follow(reader, author)
    drain()
    posts = [make_post(author) for _ in range(5)]
    assert_exact(reader)
    redis.call(lambda connection: connection.delete("nothing", *connection.keys(lost)))
    with at_a_read_of("feeds_fanout", drain, after=is_after):
        page = queries.home_feed(reader, None, 20)
    assert [card["id"] for card in page.items] == [str(post.pk) for post in reversed(posts)]
    assert_exact(reader)


def test_open_fanouts_of_the_banned_and_of_strangers_hide_no_other_that_is_not_cached(
    reader: User,
    author: User,
    make_user: Make,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeline, "CAP", 2)
    banned, stranger = make_user(), make_user()
    for followed in (author, banned):
        relations_actions.follow(reader, followed)
    drain()
    post = make_post(author)
    for _ in range(15):
        make_post(banned)
        make_post(stranger)
    accounts_actions.ban(banned)
    for _ in range(2):
        page = queries.home_feed(reader, None, 2)
        assert [card["id"] for card in page.items] == [str(post.pk)]
    lonely = make_user()
    assert queries.home_feed(lonely, None, 2).items == []


@pytest.mark.parametrize("warm", [True, False])
def test_more_open_fanouts_than_are_cached_cost_one_statement_more(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
    warm: bool,
) -> None:
    monkeypatch.setattr(timeline, "CAP", 2)
    relations_actions.follow(reader, author)
    drain()
    for _ in range(5):
        make_post(author)
    queries.home_feed(reader, None, 20)
    if not warm:
        redis.call(lambda connection: connection.flushdb())
    with mock.patch.object(db, "read_union", wraps=db.read_union) as reads:
        queries.home_feed(reader, None, 20)
    assert reads.call_count == (1 if warm else 2)
    key = cache.INBOX.key(reader.pk)
    assert redis.call(lambda connection: connection.type(key)) == b"zset"  # filled all the same


def test_a_cached_inbox_is_unused_after_a_sync_whose_process_died_before_the_invalidation(
    reader: User, author: User, make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        make_post(author)
    FanOut.objects.all().delete()
    relations_actions.follow(reader, author)
    assert_exact(reader)
    monkeypatch.setattr(cache, "changed_inbox", lambda viewer_id: None)
    sync.sync_inbox(reader.pk, author.pk)
    assert_exact(reader)
    redis.call(lambda connection: connection.delete(f"reader:{reader.pk}"))  # a minute passes
    redis.call(lambda connection: connection.delete("fanouts2:0"))
    assert_exact(reader)


@pytest.mark.parametrize("mode", [Mode.ACTIVE, Mode.NONE])
def test_the_first_post_that_is_not_pushed_to_all_is_in_warm_feeds_at_once(
    reader: User, author: User, make_post: Make, drain: Make, mode: Mode
) -> None:
    relations_actions.follow(reader, author)
    make_post(author)
    drain()
    long_ago = timezone.now() - timedelta(days=1000)
    User.objects.filter(pk=reader.pk).update(last_seen=long_ago)  # ACTIVE is not for them
    for _ in range(2):
        assert_exact(reader)
    with mock.patch.object(tiers, "mode_for", return_value=mode):
        actions.publish(author, content="to few")
    assert_exact(reader)
    drain()
    assert_exact(reader)


def test_a_trim_just_before_the_rows_are_read_loses_nothing(
    reader: User,
    author: User,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is lost before the rows are read, their floor says (docs/decisions/0001)."""
    relations_actions.follow(reader, author)
    drain()
    for at in range(1000, 9000, 1000):
        make_post(author, at_ms=at)
    drain()
    first = queries.home_feed(reader, None, 2)
    assert first.next is not None
    redis.call(lambda connection: connection.delete(f"inbox2:{reader.pk}"))
    settings.INBOX_MAX = 3
    with at_a_read_of("feeds_inboxentry", lambda: trim.trim(reader.pk)):
        page = queries.home_feed(reader, Position.decode(first.next), 20)
    assert [card["position"] for card in page.items] == list(range(6000, 0, -1000))


def test_a_trim_between_two_reads_of_the_rows_loses_nothing(
    reader: User,
    author: User,
    make_user: Make,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The floor is that of the last statement: an earlier one does not know of the trim."""
    left = make_user()
    for person in (author, left):
        relations_actions.follow(reader, person)
    drain()
    for at in range(1000, 9000, 1000):
        make_post(author, at_ms=at)
    for at in range(9000, 9100):
        make_post(left, at_ms=at)
    drain()
    relations_actions.unfollow(reader, left)  # no relay: the rows stay, and are passed over
    settings.INBOX_MAX = 102
    trim_it = functools.partial(trim.trim, reader.pk)
    others_lease = mock.patch.object(cache.INBOX, "leased", return_value=[])
    with others_lease, at_a_read_of("feeds_inboxentry", trim_it, number=2):
        page = queries.home_feed(reader, None, 20)
    assert [card["position"] for card in page.items] == list(range(8000, 0, -1000))


@pytest.mark.embedded
def test_the_rows_of_an_inbox_come_with_its_floor_in_one_statement(
    reader: User, author: User, make_post: Make, drain: Make
) -> None:
    relations_actions.follow(reader, author)
    drain()
    for at in range(1000, 9000, 1000):
        make_post(author, at_ms=at)
    drain()
    InboxState.objects.filter(viewer_id=reader.pk).update(inbox_floor=700)
    known = readers.reader_of(reader.pk)
    with CaptureQueriesContext(connection) as captured:
        found, floor = sources.rows_below(known, Position(7000, 10**18), 4)
    assert ([place.ts_ms for place in found], floor) == ([6000, 5000, 4000, 3000], 700)
    assert len(captured) == 1
    # Without a row nothing could invalidate it.
    assert sources.rows_below(known, Position(1000, 1), 4) == ([], 700)


def test_posts_of_unfollowed_people_cost_at_most_a_second_read(
    reader: User,
    author: User,
    make_user: Make,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T41: their rows stay until the unfollow is worked off; the table says whose they are."""
    left = make_user()
    for person in (author, left):
        relations_actions.follow(reader, person)
    drain()
    posts = [make_post(author, at_ms=at) for at in range(1000, 4000, 1000)]
    for at in range(9000, 9100):
        make_post(left, at_ms=at)
    drain()
    assert_exact(reader)
    relations_actions.unfollow(reader, left)
    runs, run = [], HomeReading.run
    monkeypatch.setattr(HomeReading, "run", lambda *args: runs.append(args) or run(*args))
    page = queries.home_feed(reader, None, 2)
    assert [card["id"] for card in page.items] == [str(post.pk) for post in posts[:0:-1]]
    assert len(runs) == 2


@pytest.mark.parametrize("cap", [2, 400])
def test_pulled_posts_of_the_last_ms_of_an_inbox_run_are_not_skipped(
    reader: User,
    author: User,
    make_user: Make,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
    cap: int,
) -> None:
    """T32, T48: others have posts in that ms too, above and below where their cached lists end."""
    monkeypatch.setattr(timeline, "CAP", cap)
    pulled = make_user()
    for person in (author, pulled):
        relations_actions.follow(reader, person)
    drain()
    for person, mode in ((author, Mode.ALL), (pulled, Mode.NONE)):
        with mock.patch.object(tiers, "mode_for", return_value=mode):
            for _ in range(10):
                make_post(person, at_ms=1000)
    drain()
    for size in (1, 2, 3):
        for _ in range(2):
            assert_exact(reader, size)
