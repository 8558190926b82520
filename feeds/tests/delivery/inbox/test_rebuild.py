"""Rebuilding inboxes repairs any damage, and feeds stay exact meanwhile."""

import io
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from accounts import actions as accounts_actions
from accounts.models import AuditEntry, Role, User
from feeds import actions, queries
from feeds.delivery.fanout import sweep
from feeds.delivery.inbox import rebuild, sync, trim
from feeds.models import InboxEdge, InboxEntry, InboxState, Post
from feeds.tests.exactness.oracle import assert_exact
from feeds.tests.settling import settle
from relations import actions as relations_actions
from relations import queries as relations_queries
from socialsite.core.events import relay
from socialsite.core.positions import Position
from socialsite.core.redis import call
from socialsite.tests.support.race import Race

pytestmark = [pytest.mark.django_db, pytest.mark.full, pytest.mark.embedded]

Make = Callable[..., Any]
Row = tuple[int, int, int]


def rows(reader: User) -> set[Row]:
    found = InboxEntry.objects.filter(user=reader)
    return set(found.values_list("publish_time", "post_id", "author_id"))


def edges(reader: User) -> dict[int, int | None]:
    found = InboxEdge.objects.filter(viewer=reader)
    return dict(found.values_list("author_id", "backfilled_from"))


def generation(reader: User) -> int:
    found = InboxState.objects.filter(viewer=reader)
    return found.values_list("generation", flat=True).first() or 0


def right(*posts: Post) -> set[Row]:
    return {(post.position, post.pk, post.author_id) for post in posts}


def lose_cache() -> None:
    call(lambda redis: redis.flushdb())


@pytest.fixture
def authors(make_user: Make) -> list[User]:
    return [make_user() for _ in range(3)]


@pytest.fixture
def posts(authors: list[User], make_post: Make) -> list[Post]:
    return [make_post(author) for _ in range(3) for author in authors]


@pytest.fixture
def reader(make_user: Make, authors: list[User], posts: list[Post], drain: Make) -> User:
    """A reader who follows all authors and has all of their posts in the inbox."""
    found = make_user("reader1")
    for author in authors:
        relations_actions.follow(found, author)
    drain()
    assert rows(found) == right(*posts)
    return found


# --- repairs ------------------------------------------------------------------------------------
def test_a_sound_inbox_stays_as_it_is(reader: User, posts: list[Post], authors: list[User]) -> None:
    before = generation(reader)
    done = rebuild.rebuild([reader.pk])
    assert (done.viewers, done.removed, done.synced) == (1, 0, 3)
    assert rows(reader) == right(*posts)
    assert edges(reader) == {author.pk: 0 for author in authors}
    assert generation(reader) > before
    assert_exact(reader)


def test_lost_rows_come_back(reader: User, posts: list[Post]) -> None:
    InboxEntry.objects.filter(post__in=posts[::2]).delete()
    lose_cache()
    with pytest.raises(AssertionError):
        assert_exact(reader)
    rebuild.rebuild([reader.pk])
    assert rows(reader) == right(*posts)
    assert_exact(reader)


def test_rows_come_back_as_far_as_a_backfill_goes(
    reader: User, posts: list[Post], authors: list[User], settings: LazySettings
) -> None:
    settings.BACKFILL_MAX = 1
    InboxEntry.objects.all().delete()
    lose_cache()
    rebuild.rebuild([reader.pk])
    assert len(rows(reader)) <= 3
    assert all(edges(reader).values())
    assert_exact(reader)


def test_wrong_rows_and_their_effects_are_removed(
    reader: User, posts: list[Post], authors: list[User], make_user: Make, make_post: Make
) -> None:
    stranger, gone = make_user(), posts[4]
    strange = make_post(stranger)
    actions.delete(authors[1], gone.pk)
    entries = InboxEntry.objects.filter(user=reader)
    entries.filter(post=posts[0]).update(author=stranger)  # hides the post
    plant = [
        (strange.position, strange.pk, stranger.pk),  # not followed
        (posts[1].position + 1, posts[1].pk, posts[1].author_id),  # wrong position
        (5, 77, authors[0].pk),  # no such post
    ]
    for time, post, author in plant:
        InboxEntry.objects.create(user=reader, publish_time=time, post_id=post, author_id=author)
    lose_cache()
    done = rebuild.rebuild([reader.pk])
    assert done.removed == 4  # the stranger's correct row is purged, not wrong
    assert rows(reader) == right(*(post for post in posts if post != gone))
    assert set(edges(reader)) == {author.pk for author in authors}
    assert_exact(reader)


def test_the_state_of_an_inbox_is_computed_again(
    reader: User, posts: list[Post], authors: list[User], make_user: Make
) -> None:
    InboxEdge.objects.filter(author=authors[0]).delete()
    InboxEdge.objects.filter(author=authors[1]).update(backfilled_from=None)
    InboxEdge.objects.filter(author=authors[2]).update(backfilled_from=2**52)
    InboxEdge.objects.create(viewer=reader, author=make_user(), backfilled_from=0)
    rebuild.rebuild([reader.pk])
    assert edges(reader) == {author.pk: 0 for author in authors}
    assert_exact(reader)


def test_an_unfollow_with_a_late_purge_is_purged(
    reader: User, posts: list[Post], authors: list[User], drain: Make
) -> None:
    relations_actions.unfollow(reader, authors[0])
    rebuild.rebuild([reader.pk])
    assert {author for _, _, author in rows(reader)} == {authors[1].pk, authors[2].pk}
    assert_exact(reader)
    drain()
    assert_exact(reader)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_an_inbox_is_checked_in_pieces(
    reader: User, posts: list[Post], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(rebuild, "ROWS", size)
    # Two rows at one time: the cursor between pieces has time and id.
    for time in (posts[3].position, posts[7].position):
        InboxEntry.objects.create(
            user=reader, publish_time=time, post_id=posts[0].pk, author_id=posts[0].author_id
        )
    done = rebuild.rebuild([reader.pk])
    assert done.removed == 2
    assert rows(reader) == right(*posts)
    assert sum(map(len, rebuild._pieces(reader.pk))) == 9


def test_an_inbox_that_is_bounded_stays_so(
    reader: User, posts: list[Post], settings: LazySettings
) -> None:
    settings.INBOX_MAX = 4
    trim.trim(reader.pk)
    floor = InboxState.objects.get(viewer=reader).inbox_floor
    assert len(rows(reader)) == 4
    rebuild.rebuild([reader.pk])
    assert len(rows(reader)) == 4
    assert InboxState.objects.get(viewer=reader).inbox_floor == floor
    assert_exact(reader)


def test_somebody_without_an_inbox_is_no_trouble(make_user: Make) -> None:
    done = rebuild.rebuild([make_user().pk, 77])
    assert (done.viewers, done.removed, done.synced) == (2, 0, 0)


def test_an_inbox_of_others_is_left_alone(reader: User, make_user: Make, authors: Any) -> None:
    other = make_user()
    relations_actions.follow(other, authors[0])
    before = (rows(other), edges(other), generation(other))
    rebuild.rebuild([reader.pk])
    assert (rows(other), edges(other), generation(other)) == before


# --- interruption and repetition ----------------------------------------------------------------
def test_a_feed_is_exact_wherever_a_rebuild_is_stopped(
    reader: User, posts: list[Post], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    InboxEntry.objects.filter(post__in=posts[:5]).delete()
    lose_cache()
    real = sync.sync_inbox
    for steps in range(4):
        left = [None] * steps

        def stop(*pair: int, left: list[None] = left) -> None:
            if not left:
                raise Stopped
            left.pop()
            real(*pair)

        monkeypatch.setattr(sync, "sync_inbox", stop)
        if steps < 3:
            with pytest.raises(Stopped):
                rebuild.rebuild([reader.pk])
        else:
            rebuild.rebuild([reader.pk])
        assert_exact(reader)
    assert rows(reader) == right(*posts)


def test_reading_between_any_two_steps_is_exact(
    reader: User, posts: list[Post], make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a reader who reads the completeness of the inbox first, and the inbox later."""
    monkeypatch.setattr(rebuild, "ROWS", 2)
    before = rows(reader)
    seen: list[set[Row]] = []
    real, remove = sync.sync_inbox, rebuild._remove

    def checked(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            result = step(*args)
            seen.append(rows(reader))
            assert_exact(reader)
            return result

        return run

    monkeypatch.setattr(sync, "sync_inbox", checked(real))
    monkeypatch.setattr(rebuild, "_remove", checked(remove))
    InboxEntry.objects.create(user=reader, publish_time=5, post_id=77, author=reader)
    rebuild.rebuild([reader.pk])
    assert len(seen) == 5  # one removal, the authors, and the wrong row's
    assert all(before <= found for found in seen)


@pytest.mark.parametrize("synced", [0, 1, 3])
def test_a_reader_who_is_overtaken_by_a_rebuild_misses_nothing(
    reader: User,
    posts: list[Post],
    settings: LazySettings,
    synced: int,
) -> None:
    """Before each query of a page in turn, a rebuild starts and gets as far as some authors."""
    wanted = [str(post.pk) for post in reversed(posts)]
    before = 0
    while True:
        settings.BACKFILL_MAX = 200
        rebuild.rebuild([reader.pk])  # complete again
        settings.BACKFILL_MAX = 1
        queries.home_feed(reader, None, 20)
        if before % 2:
            lose_cache()
        overtaken = Overtaken(reader, before // 2, synced)
        with connection.execute_wrapper(overtaken):
            page = queries.home_feed(reader, None, 20)
        assert [card["id"] for card in page.items] == wanted, f"before query {before // 2}"
        if not overtaken.done and before % 2:
            break
        before += 1
    assert before > 4


class Overtaken:
    """Runs a part of a rebuild before one query of a reader."""

    def __init__(self, reader: User, before: int, synced: int) -> None:
        self.reader, self.left, self.synced = reader, before, synced
        self.done = self.busy = False

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        if not self.busy and not self.done:
            if self.left == 0:
                self.done = self.busy = True
                rebuild._mark_incomplete(self.reader.pk)
                authors = sorted(relations_queries.following_ids(self.reader.pk))
                for author in authors[: self.synced]:
                    sync.sync_inbox(self.reader.pk, author)
                self.busy = False
            self.left -= 1
        return execute(*args)


# --- the command --------------------------------------------------------------------------------
def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("rebuild_inboxes", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_rebuilds_one_or_everybody(
    reader: User, posts: list[Post], authors: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "BATCH", 2)
    printed = "inboxes 1, follows synced 3, wrong rows removed 0\n"
    for name in ("READER1", "@reader1", str(reader.pk)):
        InboxEntry.objects.all().delete()
        assert command("--user", name) == printed
        assert rows(reader) == right(*posts)
    InboxEntry.objects.all().delete()
    assert command("--all") == "inboxes 4, follows synced 3, wrong rows removed 0\n"
    assert rows(reader) == right(*posts)
    # Authors were created first: only the reader is above the last of them.
    assert command("--all", "--after", str(authors[2].pk)) == printed
    assert AuditEntry.objects.filter(action="rebuild_inbox").count() == 0


def test_a_stopped_command_prints_where_to_continue(
    reader: User, authors: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = rebuild._rebuild

    def stop(viewer_id: int, report: rebuild.Report) -> None:
        if viewer_id == authors[2].pk:
            raise KeyboardInterrupt
        work(viewer_id, report)

    monkeypatch.setattr(rebuild, "_rebuild", stop)
    with pytest.raises(CommandError, match=f"continue with --after {authors[1].pk}"):
        command("--all")


def test_a_failed_command_prints_where_to_continue_too(
    reader: User, authors: list[User], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = rebuild._rebuild

    def fail(viewer_id: int, report: rebuild.Report) -> None:
        if viewer_id == authors[1].pk:
            raise OperationalError("gone away")
        work(viewer_id, report)

    monkeypatch.setattr(rebuild, "_rebuild", fail)
    printed = io.StringIO()
    with pytest.raises(OperationalError):
        call_command("rebuild_inboxes", "--all", stdout=io.StringIO(), stderr=printed)
    assert f"continue with --after {authors[0].pk}" in printed.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--user", "nobody9"),
        ("--user", "77"),
        ("--all", "--user", "x"),
        ("--all", "--after", "x"),
    ],
)
def test_the_command_refuses_unknown_names(db: None, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command(*arguments)


def test_a_rebuild_by_staff_is_noted_with_the_address(reader: User, make_user: Make) -> None:
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    done = rebuild.rebuild_as(admin, reader.pk, "203.0.113.9")
    assert (done.viewers, done.synced) == (1, 3)
    entry = AuditEntry.objects.get(action="rebuild_inbox")
    assert (entry.actor_id, entry.subject_id) == (admin.pk, reader.pk)
    assert entry.address == "203.0.113.9"


# --- real threads -------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")
def test_feeds_are_exact_while_inboxes_are_rebuilt_beside_posts_and_follows(
    make_user: Make, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BACKFILL_MAX, settings.FANOUT_CHUNK = 3, 2
    monkeypatch.setattr(rebuild, "ROWS", 2)
    authors, readers = [make_user() for _ in range(3)], [make_user() for _ in range(3)]
    steady, toggler, damaged = readers
    for reader in readers:
        for author in authors:
            relations_actions.follow(reader, author)
    published: list[tuple[int, int]] = []
    for author in authors:
        for _ in range(6):
            published.append((author.pk, actions.publish(author, content="old").pk))
    settle()
    race = Race()

    def publish(dice: random.Random) -> None:
        author = dice.choice(authors)
        published.append((author.pk, actions.publish(author, content="x").pk))

    def read(dice: random.Random) -> None:
        wanted = {post for _, post in list(published)}
        missing = wanted - walk(steady, dice.choice([2, 7, 20]))
        assert not missing, f"missing {missing}"

    def toggle(dice: random.Random) -> None:
        author = dice.choice(authors)
        follow = dice.random() < 0.6
        (relations_actions.follow if follow else relations_actions.unfollow)(toggler, author)
        wanted = {post for owner, post in list(published) if owner == author.pk}
        found = walk(toggler, dice.choice([3, 20]))
        assert not (wanted - found if follow else wanted & found)

    def build(dice: random.Random) -> None:
        rebuild.rebuild([dice.choice(readers).pk])

    def damage(dice: random.Random) -> None:
        one = dice.choice(sorted(rows(damaged)))
        InboxEntry.objects.get_or_create(
            user=damaged, publish_time=one[0] + 1, post_id=one[1], author_id=one[2]
        )

    race.add("publish", publish, 40, paced=("read", "rebuild", "toggle"))
    race.beside("relay", lambda dice: relay.relay(5))
    race.beside("sweep", lambda dice: sweep.run())
    race.add("read", read, 40, paced=("publish",))
    for _ in range(2):
        race.add("rebuild", build, 40, paced=("publish",))
    race.add("toggle", toggle, 40, paced=("publish",))
    race.add("damage", damage, 40, paced=("rebuild",))
    race.run()

    settle()
    rebuild.rebuild([reader.pk for reader in readers])
    for reader in readers:
        assert_exact(reader, 7)
        followed = set(relations_queries.following_ids(reader.pk))
        legit = {row for row in rows(reader) if row[2] in followed}
        assert rows(reader) == legit <= right(*Post.objects.all())
        assert set(edges(reader)) == followed


def walk(reader: User, size: int) -> set[int]:
    found: list[int] = []
    cursor = None
    while True:
        page = queries.home_feed(reader, cursor, size)
        found += [int(card["id"]) for card in page.items]
        if page.next is None:
            assert len(found) == len(set(found)), "shown twice"
            return set(found)
        cursor = Position.decode(page.next)
