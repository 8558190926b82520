"""Verifying feeds: planted defects are found and explained, what only moves is none."""

import io
import logging
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, cache, queries, tasks, tiers
from feeds.audit import cache_audit, verify
from feeds.cache.timeline import member_of
from feeds.delivery.fanout import sweep
from feeds.delivery.inbox import rebuild, sync, trim
from feeds.models import (
    AuthorHead,
    FanOut,
    FeedCheck,
    InboxEdge,
    InboxEntry,
    InboxState,
    Mode,
    Post,
)
from feeds.tests.settling import settle
from relations import actions as relations_actions
from socialsite.core.events import relay
from socialsite.core.positions import Page, Position
from socialsite.core.redis import bypassed, call
from socialsite.tests.browser.scraper import scrape
from socialsite.tests.support.race import Race

pytestmark = [pytest.mark.django_db, pytest.mark.full, pytest.mark.embedded]

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PAUSE_SECONDS", 0)


@pytest.fixture
def only_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """For feeds that a test makes wrong for so many readings."""
    monkeypatch.setattr(verify, "_stored", lambda viewer, pages, size: [])


@pytest.fixture
def posts(author: User, make_post: Make) -> list[Post]:
    """Seven posts, the oldest first."""
    return [make_post(author, at_ms=at) for at in range(1000, 8000, 1000)]


@pytest.fixture
def reader(make_user: Make, author: User, posts: list[Post], drain: Make) -> User:
    """Somebody who has all posts in the inbox."""
    found = make_user("reader1")
    relations_actions.follow(found, author)
    drain()
    assert InboxEntry.objects.filter(user=found).count() == 7
    return found


def verified(reader: User, pages: int = 9, size: int = 3) -> verify.Report:
    """Verify one feed, after the caches are lost: defects are planted behind their back."""
    call(lambda redis: redis.flushdb())
    return verify.verify(pages=pages, size=size, viewer_ids=[reader.pk])


def wrong(report: verify.Report) -> list[tuple[int, tuple[int, ...], tuple[int, ...], Any]]:
    return [(d.page, d.missing, d.extra, d.order) for d in report.differences]


def lose(reader: User, *posts: Post) -> None:
    InboxEntry.objects.filter(user=reader, post__in=posts).delete()


def move(reader: User, post: Post, to_ms: int) -> None:
    """Put a post out of its place."""
    lose(reader, post)
    InboxEntry.objects.create(user=reader, publish_time=to_ms, post=post, author=post.author)


# --- what is found ------------------------------------------------------------------------------
def test_sound_feeds_are_read_to_their_end(reader: User, author: User, make_user: Make) -> None:
    report = verified(reader)
    assert (report.viewers, report.pages, report.posts, report.unsettled) == (1, 3, 0, 0)
    assert (verified(reader, pages=2).pages, verified(make_user()).pages) == (2, 1)
    assert (verified(reader, size=7).pages, verified(author, size=1).pages) == (1, 7)


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("lost", range(7))
def test_a_row_that_is_lost_is_found_on_its_page_and_explained(
    reader: User, posts: list[Post], size: int, lost: int
) -> None:
    lose(reader, posts[lost])
    report = verified(reader, size=size)
    page = (6 - lost) // size + 1
    if lost == 0 and 6 % size == 0:
        page -= 1  # the page before it is the last one now, and should not be
    assert wrong(report) == [(page, (posts[lost].pk,), (), ())]
    explanation = report.differences[0].explanations[0]
    assert explanation.post_id == posts[lost].pk
    assert explanation.codes[-1] == "row_missing"


def test_several_lost_rows_are_each_found_once(reader: User, posts: list[Post]) -> None:
    lose(reader, posts[6], posts[5], posts[2], posts[0])
    found = [post for d in verified(reader).differences for post in d.missing]
    assert found == [posts[n].pk for n in (6, 5, 2, 0)]
    assert verified(reader).posts == 4
    assert verified(reader, pages=1).posts == 3  # where it ends now, and above


def test_only_the_first_differences_are_explained_and_logged(
    reader: User, posts: list[Post], monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(verify, "EXPLAINED_MAX", 1)
    lose(reader, posts[6], posts[0])
    found = verified(reader).differences
    assert [len(one.explanations) for one in found] == [1, 0]
    assert [one.missing for one in found] == [(posts[6].pk,), (posts[0].pk,)]
    assert str(posts[6].pk) in caplog.text
    assert str(posts[0].pk) not in caplog.text


def test_an_inbox_that_lost_all_is_found(reader: User, posts: list[Post]) -> None:
    lose(reader, *posts)
    assert verified(reader).posts == 7
    rebuild.rebuild([reader.pk])
    assert verified(reader).posts == 0


@pytest.mark.parametrize("to_ms", [1500, 3500, 2**52])
def test_a_row_out_of_its_place_is_found(reader: User, posts: list[Post], to_ms: int) -> None:
    move(reader, posts[4], to_ms)
    report = verified(reader, size=20)
    assert report.posts
    missed = posts[4].pk
    causes = [one for d in report.differences for one in d.explanations if one.post_id == missed]
    assert all("row_misplaced" in one.codes for one in causes)
    assert verified(reader).posts
    rebuild.rebuild([reader.pk])
    assert verified(reader).posts == 0


def test_ghost_rows_do_no_harm_and_are_no_difference(
    reader: User, author: User, posts: list[Post], make_user: Make, make_post: Make
) -> None:
    stranger = make_user()
    post = make_post(stranger)
    InboxEntry.objects.create(user=reader, publish_time=post.position, post=post, author=stranger)
    InboxEntry.objects.create(user=reader, publish_time=1500, post_id=77, author=author)
    assert verified(reader).posts == 0


# --- what only the caches have wrong, or only the tables ----------------------------------------
def warm(reader: User) -> None:
    """Have the caches filled: a page as it is served, twice."""
    for _ in range(2):
        queries.home_feed(reader, None, 10)


def differences(reader: User) -> list[tuple[str, str, int, list[str]]]:
    """What is found, post by post, with the caches as they are: where, what, post, reasons."""
    report = verify.verify(pages=9, size=3, viewer_ids=[reader.pk])
    return [
        (str(found.source), what, one.post_id, [str(code) for code in one.codes])
        for found in report.differences
        for one in found.explanations
        for what in ("missing", "extra", "order")
        if one.post_id in getattr(found, what)
    ]


def unlist(key: str, post: Post) -> None:
    """Take a post out of a cached list."""
    member = member_of(post.pk)
    assert call(lambda redis: redis.zrem(key, member)) == 1


def test_rows_that_the_cached_inbox_still_has_are_found(reader: User, posts: list[Post]) -> None:
    """Else they would be for two days, and be missing when the cache goes."""
    warm(reader)
    lose(reader, posts[2])
    shown = [card["id"] for card in queries.home_feed(reader, None, 10).items]
    assert str(posts[2].pk) in shown
    ((where, what, post, reasons),) = differences(reader)
    assert (where, what, post) == ("from the tables", "missing", posts[2].pk)
    assert (reasons[0], reasons[-2:]) == ("followed", ["row_missing", "cached_inbox_has"])


def test_a_row_is_missed_although_its_author_is_pulled_anyway(
    reader: User, author: User, make_user: Make, make_post: Make, drain: Make, monkeypatch: Any
) -> None:
    """The feed is right for now; with more in the inbox it would not be."""
    monkeypatch.setattr(tiers, "mode_for", lambda followers, before: Mode.NONE)
    make_post(author, at_ms=500)
    monkeypatch.undo()
    monkeypatch.setattr(verify, "PAUSE_SECONDS", 0)
    lost = Post.objects.filter(author=author, mode=Mode.ALL).newest_first()[2]
    lose(reader, lost)
    report = verified(reader, size=20)
    ((found,), explanations) = report.differences, report.differences[0].explanations
    assert (found.where, found.missing, report.posts) == ("in the inbox", (lost.pk,), 1)
    assert explanations[0].codes[-1] == "row_missing"
    assert "in the inbox\n  missing" in command("--user", "reader1")[0]
    rebuild.rebuild([reader.pk])
    assert verified(reader).posts == 0


def test_rows_that_nobody_counts_on_are_not_missed(
    reader: User, author: User, posts: list[Post], make_user: Make, make_post: Make, drain: Make
) -> None:
    wanted = posts[3]
    missed = [wanted.pk]
    lose(reader, wanted)
    assert sync.missing(reader.pk, 9) == missed
    edges = InboxEdge.objects.filter(viewer=reader, author=author)
    states = InboxState.objects.filter(viewer=reader)
    posted, deliveries = Post.objects.filter(pk=wanted.pk), FanOut.objects.filter(pk=wanted.pk)
    for table, change, back in (
        (edges, {"backfilled_from": None}, {"backfilled_from": 0}),
        (edges, {"backfilled_from": wanted.position}, {"backfilled_from": wanted.position - 1}),
        (states, {"inbox_floor": wanted.position}, {"inbox_floor": wanted.position - 1}),
        (posted, {"mode": Mode.ACTIVE}, {"mode": Mode.ALL}),
        (posted, {"is_deleted": True}, {"is_deleted": False}),
        (deliveries, {"state": FanOut.State.RUNNING}, {"state": FanOut.State.DONE}),
    ):
        assert table.update(**change) == 1
        assert sync.missing(reader.pk, 9) == [], change
        table.update(**back)
        assert sync.missing(reader.pk, 9) == missed, back
    accounts_actions.ban(author)
    assert sync.missing(reader.pk, 9) == []
    accounts_actions.unban(author)
    lose(reader, *posts)
    assert sync.missing(reader.pk, 2) == [posts[6].pk, posts[5].pk]
    relations_actions.unfollow(reader, author)
    assert sync.missing(reader.pk, 9) == []


def test_an_entry_missing_in_the_cached_inbox_is_found(reader: User, posts: list[Post]) -> None:
    warm(reader)
    assert differences(reader) == []
    unlist(cache.INBOX.key(reader.pk), posts[3])
    ((where, what, post, reasons),) = differences(reader)
    assert (where, what, post) == ("as served", "missing", posts[3].pk)
    assert reasons[-1] == "cached_inbox_lacks"
    rebuild.rebuild([reader.pk])
    assert differences(reader) == []


@pytest.fixture
def pulled(author: User, make_post: Make, reader: User, drain: Make, monkeypatch: Any) -> Post:
    """A post of the author that is not pushed."""
    monkeypatch.setattr(tiers, "mode_for", lambda followers, before: Mode.NONE)
    post: Post = make_post(author, at_ms=5500)
    drain()
    return post


def test_a_pulled_post_missing_in_the_cached_outbox_is_found(
    reader: User, author: User, pulled: Post
) -> None:
    warm(reader)
    unlist(cache.OUTBOX.key(author.pk), pulled)
    codes = ["followed", "pulled_mode", "cached_outbox_lacks"]
    assert differences(reader) == [("as served", "missing", pulled.pk, codes)]


@pytest.mark.parametrize("is_warm", [False, True])
def test_a_head_without_the_flag_of_a_pulled_author_is_found(
    reader: User, author: User, pulled: Post, *, is_warm: bool
) -> None:
    if is_warm:
        warm(reader)
    AuthorHead.objects.filter(author=author).update(last_pulled_position=0)
    assert differences(reader) == [
        ("from the tables", "missing", pulled.pk, ["followed", "head_behind"])
    ]


def test_an_open_fan_out_missing_in_the_cached_list_is_found(
    reader: User, author: User, make_post: Make
) -> None:
    post = make_post(author)
    warm(reader)
    place = Position(post.position, post.pk)
    cache.OPEN.remove([cache.ALL], cache.open_entry(place, author.pk)[1])
    codes = ["followed", "pulled_fanout_open", "cached_fanouts_lack"]
    assert differences(reader) == [("as served", "missing", post.pk, codes)]


def test_a_floor_that_is_lost_is_found(
    reader: User, posts: list[Post], settings: LazySettings
) -> None:
    """The inbox is said to reach further down than it does."""
    settings.INBOX_MAX = 4
    trim.trim(reader.pk)
    assert differences(reader) == []
    InboxState.objects.filter(viewer=reader).update(inbox_floor=0)
    call(lambda redis: redis.flushdb())
    found = differences(reader)
    assert {(where, what) for where, what, _, _ in found} == {("from the tables", "missing")}
    assert [post for _, _, post, _ in found] == [posts[n].pk for n in (2, 1, 0)]
    assert all(reasons[-1] == "row_missing" for _, _, _, reasons in found)
    rebuild.rebuild([reader.pk])
    assert differences(reader) == []


@pytest.fixture
def _deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches get no invalidation when relations change."""
    monkeypatch.setattr(cache, "changed_reader", lambda *viewer_ids: None)
    monkeypatch.setattr(cache, "changed_inbox", lambda viewer_id: None)


@pytest.mark.usefixtures("_deaf")
def test_a_cached_reader_without_a_follow_is_found(
    reader: User, author: User, make_user: Make, make_post: Make
) -> None:
    other = make_user()
    post = make_post(other)
    warm(reader)
    relations_actions.follow(reader, other)
    ((where, what, ident, reasons),) = differences(reader)
    assert (where, what, ident) == ("as served", "missing", post.pk)
    assert reasons[-1] == "cached_reader"
    text = cache_audit.errors(reader.pk, post.pk)[0].text
    assert text == ("The cached reader is out of date: follows, completeness of the inbox.")
    call(lambda redis: redis.delete(cache.READERS.key(reader.pk)))
    warm(reader)
    relations_actions.unfollow(reader, other)
    ((where, what, ident, reasons),) = differences(reader)
    assert (where, what, ident) == ("as served", "extra", post.pk)
    assert (reasons[0], reasons[-1]) == ("not_followed", "cached_reader")


@pytest.mark.usefixtures("_deaf")
def test_a_cached_reader_without_a_block_is_found(
    reader: User, author: User, posts: list[Post]
) -> None:
    warm(reader)
    relations_actions.block(author, reader)
    found = differences(reader)
    assert {(where, what) for where, what, _, _ in found} == {("as served", "extra")}
    assert len(found) == 3  # the definition has no further pages
    assert all(reasons[0] == "blocked_by_author" for _, _, _, reasons in found)
    assert all(reasons[-1] == "cached_reader" for _, _, _, reasons in found)


def test_a_deleted_post_whose_card_is_still_cached_is_found(
    reader: User, author: User, posts: list[Post], monkeypatch: Any
) -> None:
    warm(reader)
    Post.objects.filter(pk=posts[5].pk).update(is_deleted=True)
    ((where, what, post, reasons),) = differences(reader)
    assert (where, what, post) == ("as served", "extra", posts[5].pk)
    assert (reasons[0], reasons[-1]) == ("deleted", "cached_post")


def test_an_author_who_is_cached_as_gone_is_found(
    reader: User, author: User, posts: list[Post]
) -> None:
    warm(reader)
    key = f"person:{author.pk}"
    assert call(lambda redis: redis.get(key))
    call(lambda redis: redis.set(key, b"=\x01"))
    found = differences(reader)
    assert len(found) == len(posts)
    assert all(where == "as served" and what == "missing" for where, what, _, _ in found)
    assert all(reasons[-1] == "cached_person" for _, _, _, reasons in found)


def test_caches_that_are_right_raise_no_doubt(
    reader: User, author: User, posts: list[Post], pulled: Post, make_user: Make
) -> None:
    warm(reader)
    for viewer in (reader, author, make_user()):
        for post in (*posts, pulled):
            assert cache_audit.errors(viewer.pk, post.pk) == []


def test_without_redis_only_the_tables_are_read(
    reader: User, author: User, posts: list[Post]
) -> None:
    warm(reader)
    unlist(cache.INBOX.key(reader.pk), posts[3])
    with bypassed():
        assert cache_audit.errors(reader.pk, posts[3].pk) == []
        assert differences(reader) == []


# --- what an implementation could get wrong ------------------------------------------------------
def answer(change: Callable[[list[Any], Any], Page[Any]]) -> Callable[..., Page[Any]]:
    """Return a home feed that is the oracle's but for a change of its pages."""

    def read(viewer: User, cursor: Any, size: int) -> Page[Any]:
        page = queries.oracle_feed(viewer, cursor, size)
        return change(page.items, page.next)

    return read


def at_home(monkeypatch: pytest.MonkeyPatch, read: Callable[..., Page[Any]]) -> None:
    monkeypatch.setattr(queries, "home_feed", read)


def test_posts_that_do_not_belong_there_are_found(
    reader: User, posts: list[Post], make_user: Make, make_post: Make, monkeypatch: Any
) -> None:
    stranger = make_user()
    post = make_post(stranger)
    card = {"id": str(post.pk)}
    at_home(monkeypatch, answer(lambda items, next_: Page([card, *items], next_)))
    report = verified(reader, size=20)
    assert wrong(report) == [(1, (), (post.pk,), ())]
    assert report.differences[0].explanations[0].codes == ["not_followed"]


def test_posts_out_of_order_or_shown_twice_are_found(
    reader: User, posts: list[Post], monkeypatch: Any
) -> None:
    at_home(monkeypatch, answer(lambda items, next_: Page([*items[:1], *items], next_)))
    assert wrong(verified(reader, size=20)) == [(1, (), (), (posts[6].pk,))]
    at_home(monkeypatch, answer(lambda items, next_: Page(items[::-1], next_)))
    assert wrong(verified(reader, size=20))[0][3] == tuple(post.pk for post in posts[1:])


def test_a_feed_that_ends_early_is_found(reader: User, posts: list[Post], monkeypatch: Any) -> None:
    """The page itself is right: only its end is not."""
    at_home(monkeypatch, answer(lambda items, next_: Page(items, None)))
    report = verified(reader, size=5)
    assert wrong(report) == [(1, (posts[1].pk, posts[0].pk), (), ())]
    assert verified(reader, size=7).posts == 0


def test_a_page_repeated_for_ever_is_found(reader: User, monkeypatch: Any) -> None:
    first = queries.oracle_feed(reader, None, 3)
    at_home(monkeypatch, lambda viewer, cursor, size: first)
    found = verified(reader).differences[0]
    assert (found.page, len(found.extra)) == (2, 3)


def test_short_pages_that_go_on_are_no_difference(
    reader: User, posts: list[Post], monkeypatch: Any
) -> None:
    """The gate hid much: the page is short, the list is not at its end."""

    def short(viewer: User, cursor: Any, size: int) -> Page[Any]:
        page = queries.oracle_feed(viewer, cursor, 1)
        return page

    at_home(monkeypatch, short)
    report = verified(reader)
    assert (report.posts, report.unsettled, report.pages) == (0, 0, 3)


# --- beside writers -----------------------------------------------------------------------------
@pytest.mark.usefixtures("only_served")
def test_a_post_between_the_two_reads_is_no_difference(
    reader: User, author: User, make_post: Make, monkeypatch: Any
) -> None:
    oracle, left = queries.oracle_feed, [1] * 5

    def write_after(viewer: User, cursor: Any, size: int) -> Page[Any]:
        page = oracle(viewer, cursor, size)
        if left:
            left.pop()
            make_post(author)
        return page

    monkeypatch.setattr(queries, "oracle_feed", write_after)
    report = verified(reader, pages=1)
    assert (report.posts, report.unsettled) == (0, 0)
    assert len(left) < 5


@pytest.mark.usefixtures("only_served")
def test_a_feed_that_comes_right_a_moment_later_is_no_difference(
    reader: User, posts: list[Post], monkeypatch: Any
) -> None:
    """As when a cache hears of a commit after the database does."""
    home, late = queries.home_feed, [1] * (verify.CONFIRM - 1)

    def read(viewer: User, cursor: Any, size: int) -> Page[Any]:
        page = home(viewer, cursor, size)
        if late and cursor is None:
            late.pop()
            page.items.pop(0)
        return page

    at_home(monkeypatch, read)
    assert verified(reader, pages=1).posts == 0
    late.extend([1] * verify.CONFIRM)
    assert verified(reader, pages=1).posts == 1


@pytest.mark.usefixtures("only_served")
def test_a_page_that_changes_all_the_time_is_unsettled(
    reader: User, author: User, posts: list[Post], make_post: Make, monkeypatch: Any
) -> None:
    lose(reader, posts[-1])
    oracle = queries.oracle_feed

    def write_after(viewer: User, cursor: Any, size: int) -> Page[Any]:
        page = oracle(viewer, cursor, size)
        make_post(author)
        return page

    monkeypatch.setattr(queries, "oracle_feed", write_after)
    monkeypatch.setattr(queries, "home_feed", lambda viewer, cursor, size: Page([], None))
    report = verified(reader, pages=1)
    assert (report.posts, report.unsettled) == (0, 1)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_nothing_is_found_while_people_post_and_follow(
    make_user: Make, settings: LazySettings, monkeypatch: Any
) -> None:
    monkeypatch.setattr(verify, "PAUSE_SECONDS", 0.05)
    settings.BACKFILL_MAX, settings.FANOUT_CHUNK = 2, 2
    people = [make_user() for _ in range(4)]
    for one in people[1:]:
        relations_actions.follow(people[0], one)
    race = Race()
    reports: list[verify.Report] = []

    def post(dice: random.Random) -> None:
        made = actions.publish(dice.choice(people), content="x")
        if dice.random() < 0.2:
            actions.delete(User.objects.get(pk=made.author_id), made.pk)

    def change(dice: random.Random) -> None:
        one, two = dice.sample(people, 2)
        getattr(relations_actions, dice.choice(["follow", "follow", "unfollow"]))(one, two)

    def check(dice: random.Random) -> None:
        reports.append(verify.verify(sample=10, pages=3, size=3))

    race.add("post", post, 60, paced=("check",))
    race.add("change", change, 60, paced=("check",))
    race.beside("relay", lambda dice: relay.relay(5))
    race.beside("sweep", lambda dice: sweep.run())
    race.add("check", check, 12, paced=("post", "change"))
    race.run()
    assert sum(report.pages for report in reports) > 20
    assert [difference for report in reports for difference in report.differences] == []
    settle()
    last = verify.verify(sample=10, pages=99, size=7)
    assert (last.posts, last.unsettled, last.viewers) == (0, 0, 4)


# --- choosing people ----------------------------------------------------------------------------
def test_a_small_site_is_verified_whole_except_closed_accounts(make_user: Make) -> None:
    people = [make_user() for _ in range(5)]
    accounts_actions.ban(people[2])
    everybody = [person.pk for person in people if person is not people[2]]
    assert verify.choose(4) == verify.choose(100) == everybody


def test_on_a_large_site_mostly_recently_active_people_are_chosen(
    make_user: Make, django_assert_max_num_queries: Make, monkeypatch: Any
) -> None:
    monkeypatch.setattr(verify, "_dice", random.Random(7))
    people = [make_user() for _ in range(60)]
    active = {person.pk for person in people[::3]}
    for number, person in enumerate(people):
        ago = timedelta(hours=number) if person.pk in active else timedelta(days=400)
        User.objects.filter(pk=person.pk).update(last_seen=timezone.now() - ago)
    accounts_actions.ban(people[0])
    chosen: list[int] = []
    for _ in range(10):
        with django_assert_max_num_queries(5 + 10 * verify.PROBES):
            found = verify.choose(10)
        assert len(found) == len(set(found)) == 10
        assert len(active.intersection(found)) >= 8
        chosen += found
    assert people[0].pk not in chosen
    assert len(active.intersection(chosen)) > 15
    assert len(set(chosen) - active) > 5
    late, early = people[3].pk, people[57].pk
    assert chosen.count(late) > chosen.count(early)


def test_on_a_large_site_without_recent_activity_anybody_is_chosen(make_user: Make) -> None:
    people = [make_user() for _ in range(8)]
    User.objects.update(last_seen=timezone.now() - timedelta(days=400))
    found = verify.choose(2)
    assert 1 <= len(found) <= 2
    assert set(found) <= {person.pk for person in people}


# --- the command, the task, the metric ----------------------------------------------------------
def command(*arguments: str) -> tuple[str, int]:
    """What `manage.py verify_feeds` prints, and its exit code."""
    call(lambda redis: redis.flushdb())
    out = io.StringIO()
    try:
        call_command("verify_feeds", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(ended.code or 0)
    return out.getvalue(), 0


def test_the_command_prints_differences_and_reasons_and_exits_with_1(
    reader: User, posts: list[Post]
) -> None:
    assert command() == ("people 2, pages 2, wrong posts 0\n", 0)
    lose(reader, posts[3])
    for arguments in ((), ("--user", "reader1"), ("--user", str(reader.pk), "--size", "4")):
        printed, code = command(*arguments)
        assert code == 1
        assert f"reader {reader.pk}, page 1, from the tables\n  missing: {posts[3].pk}\n" in printed
        assert f"  {posts[3].pk} row_missing: The inbox should contain it" in printed
    assert command("--user", "writer1")[1] == 0
    rebuild.rebuild([reader.pk])
    assert command("--sample", "1", "--pages", "1", "--size", "2")[1] == 0
    # What is looked up about one person is not the site's figure.
    assert FeedCheck.objects.count() == 3


@pytest.mark.parametrize(
    "arguments", [("--user", "nobody9"), ("--sample", "0"), ("--pages", "x"), ("--size", "-1")]
)
def test_the_command_refuses_invalid_options(db: None, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command(*arguments)
    assert not FeedCheck.objects.exists()


def figures() -> dict[str, float]:
    lines = scrape().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("socialsite_feed"))
    return {name: float(value) for name, value in pairs}


def test_the_nightly_check_reports_in_the_metrics_and_the_log(
    reader: User, posts: list[Post], caplog: pytest.LogCaptureFixture
) -> None:
    assert figures() == {}
    lose(reader, posts[0], posts[1])
    call(lambda redis: redis.flushdb())
    with caplog.at_level(logging.WARNING):
        tasks.verify_feeds()
    assert (
        f"feed of {reader.pk}, page 1, from the tables: missing {posts[0].pk} (followed"
        in caplog.text
    )
    assert "feeds of 2 people, 2 pages, wrong posts 2" in caplog.text
    found = figures()
    assert found.pop("socialsite_feeds_verified_seconds") > 1.7e9
    assert found == {"socialsite_feed_differences": 2, "socialsite_feed_viewers_verified": 2}
    rebuild.rebuild([reader.pk])
    tasks.verify_feeds()
    assert figures()["socialsite_feed_differences"] == 0


def test_only_the_newest_checks_are_stored(reader: User, monkeypatch: Any) -> None:
    monkeypatch.setattr(verify, "KEPT_CHECKS", 2)
    for _ in range(4):
        verify.run(pages=1)
    assert FeedCheck.objects.count() == 2
    assert verify.last() == FeedCheck.objects.order_by("pk").last()


def test_the_nightly_check_is_on_the_schedule() -> None:
    from django.conf import settings

    entry = settings.CELERY_BEAT_SCHEDULE["verify-feeds"]
    assert entry["task"] == tasks.verify_feeds.name
