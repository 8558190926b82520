"""Posts that come from elsewhere: exact in every feed, pushed to nobody, no news to anybody."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from accounts import live_hints
from accounts.models import User
from feeds import actions, cache, queries, tiers
from feeds.content.polls import actions as polls
from feeds.home.sources import Pulled
from feeds.models import FanOut, InboxEntry, Mode, OpenPoll, Post, WantedPreview
from feeds.tests.exactness.oracle import assert_exact
from interactions import queries as interactions_queries
from relations import actions as relations_actions
from socialsite.core import db, redis

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
WEEK_MS = tiers.WEEK_MS


@pytest.fixture
def reader(author: User, make_user: Make, drain: Make) -> User:
    """A follower whose backfill is done."""
    found: User = make_user()
    relations_actions.follow(found, author)
    drain()
    return found


def bring(author: User, weeks: float, **values: Any) -> Post:
    """Import a post of some weeks ago."""
    at_ms = db.now_ms() - int(weeks * WEEK_MS)
    values = {"content": "x"} | values
    return actions.publish(author, at_ms=at_ms, imported=True, **values)


def home(reader: User) -> list[str]:
    return [card["id"] for card in queries.home_feed(reader, None, 20).items]


def publish_old(author: User) -> None:
    """Publish as many pushed posts, of ten weeks ago, as fill a page."""
    for number in range(12):
        at_ms = db.now_ms() - 10 * WEEK_MS + number
        actions.publish(author, content=str(number), at_ms=at_ms)


def be_warm(author: User, reader: User, drain: Make) -> None:
    """Let the process cache the set of pulled authors, with the end of an old week."""
    bring(author, 20)
    publish_old(author)
    drain()
    assert_exact(reader, 2)


def die_after_commits(patch: pytest.MonkeyPatch) -> None:
    """Let no update of the caches follow a commit."""
    patch.setattr(cache, "published", lambda *args, **kwargs: None)
    patch.setattr(cache.PULLED, "renew", lambda: None)


def notices(person: User) -> list[str]:
    return [one["kind"] for one in interactions_queries.notifications(person, None, 9).items]


def test_imported_posts_are_in_every_feed_at_their_time_and_in_no_inbox(
    author: User, reader: User, make_user: Make, make_post: Make, drain: Make
) -> None:
    new = make_post(author)
    old = [bring(author, weeks) for weeks in (3, 1, 52, 0)]
    repost, _ = actions.repost(author, old[0].pk, "again", at_ms=old[0].position + 1, imported=True)
    assert {post.mode for post in (*old, repost)} == {Mode.IMPORTED}
    expected = [str(post.pk) for post in (new, old[3], old[1], repost, old[0], old[2])]
    assert sorted(home(reader)) == sorted(expected)
    late = make_user()
    relations_actions.follow(late, author)
    for _ in ("before the delivery", "after it"):
        for person in (author, reader, late):
            assert_exact(person, 2)
        drain()
    assert InboxEntry.objects.filter(user_id=reader.pk).count() == 1
    assert not FanOut.objects.filter(post__in=[*old, repost]).exists()
    actions.delete(author, old[1].pk)
    assert str(old[1].pk) not in home(reader)
    assert_exact(reader, 2)


def test_the_tier_of_the_author_stays(author: User, make_post: Make) -> None:
    bring(author, 1)
    assert make_post(author).mode == Mode.ALL


def test_readers_of_newer_pages_do_not_pull_who_imported(
    author: User, reader: User, make_post: Make, drain: Make, round_trips: list[int]
) -> None:
    for _ in range(30):
        make_post(author)
    drain()

    def warm() -> tuple[int, int]:
        for _ in range(3):
            round_trips.clear()
            with mock.patch.object(cache.OUTBOX, "key", wraps=cache.OUTBOX.key) as key:
                queries.home_feed(reader, None, 5)
        return len(round_trips), key.call_count

    before = warm()
    for weeks in (60, 8, 2):
        bring(author, weeks)
    drain()
    assert warm() == before


def test_a_newer_import_is_in_warm_feeds_at_once(author: User, reader: User, drain: Make) -> None:
    be_warm(author, reader, drain)
    for weeks in (15, 6, 2, 0):
        bring(author, weeks)
        assert_exact(reader, 2)


def test_the_event_renews_the_set_of_pulled_authors_when_the_process_died_after_the_commit(
    author: User, reader: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_warm(author, reader, drain)
    with monkeypatch.context() as patch:
        die_after_commits(patch)
        first = bring(author, 1)
        # Neither the next post of that week nor an older one renews the set.
        bring(author, 1)
    assert first.position > Pulled._cached[1][author.pk]  # type: ignore[index]
    drain()
    assert_exact(reader, 2)


def test_a_deletion_before_the_event_does_not_hide_later_posts_of_the_week(
    author: User, reader: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_warm(author, reader, drain)
    with monkeypatch.context() as patch:
        die_after_commits(patch)
        first = bring(author, 1)
    actions.delete(author, first.pk)
    bring(author, 1)
    drain()
    assert_exact(reader, 2)


def test_nobody_is_told_of_an_imported_post(
    author: User,
    reader: User,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pushed: list[int] = []
    monkeypatch.setattr(live_hints, "push", lambda people, message: pushed.extend(people))
    batch = redis.Batch()
    live_hints.heartbeat(batch, reader.pk)
    batch.run()
    named = f"@{reader.username} #tag https://example.com/page"
    post = bring(author, 0, content=named)
    assert not WantedPreview.objects.exists()
    drain()
    actions.edit(author, post.pk, 1, content=f"{named}!")
    drain()
    assert (notices(reader), pushed) == ([], [])


def test_a_poll_that_ended_stays_closed_and_one_that_runs_is_open(
    author: User, drain: Make
) -> None:
    def poll(end: int) -> dict[str, Any]:
        return {"options": ["a", "b"], "multiple": False, "ends_at": end, "lasts": None}

    now = db.now_ms()
    ended = bring(author, 2, poll=poll(now - WEEK_MS))
    running = bring(author, 1, poll=poll(now + WEEK_MS))
    assert [*OpenPoll.objects.values_list("pk", flat=True)] == [running.pk]
    assert polls.end_due() == 0
    card = queries.post(author, ended.pk)
    assert card["poll"] is not None
    assert card["poll"]["closed"]
    drain()
    assert notices(author) == []
