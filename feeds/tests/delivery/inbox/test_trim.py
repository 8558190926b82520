"""Trimming inboxes: they stay near their size, and no feed changes."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import User
from feeds import tasks
from feeds.delivery.fanout import deliver, plan
from feeds.delivery.inbox import sync, trim
from feeds.models import FanOut, InboxEntry, InboxState, Mode, Post
from feeds.tests.book_example import place
from feeds.tests.exactness.oracle import assert_exact
from relations import actions as relations_actions
from socialsite.core.events import enqueue

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]


@pytest.fixture
def reader(author: User, make_user: Make, drain: Make) -> User:
    """A reader who follows the author; the backfill is done."""
    found = make_user()
    relations_actions.follow(found, author)
    drain()
    return found


def deliver_row(author: User, reader: User, ident: int, seconds: int) -> Post:
    """Create a post and its inbox row at this position."""
    post = place(author, ident, seconds, Mode.ALL)
    InboxEntry.objects.create(user=reader, publish_time=post.position, post=post, author=author)
    return post


def stored(reader: User) -> list[int]:
    """Return the seconds of the inbox's posts, oldest first."""
    rows = InboxEntry.objects.filter(user=reader).order_by("publish_time", "post_id")
    return [ts // 1000 for ts in rows.values_list("publish_time", flat=True)]


def state(reader: User) -> tuple[int, int]:
    """Return floor in seconds and generation."""
    found = InboxState.objects.filter(pk=reader.pk).first() or InboxState()
    return found.inbox_floor // 1000, found.generation


def test_rows_beyond_the_size_are_trimmed_and_pulled(
    author: User, reader: User, settings: LazySettings
) -> None:
    settings.INBOX_MAX = 3
    for number in range(1, 8):
        deliver_row(author, reader, number, number)
    generation = state(reader)[1]
    assert trim.trim(reader.pk) == 4
    assert stored(reader) == [5, 6, 7]
    assert state(reader) == (4, generation + 1)
    assert_exact(reader)
    assert trim.trim(reader.pk) == 0
    assert state(reader) == (4, generation + 1)


@pytest.mark.parametrize("count", [0, 2, 3])
def test_an_inbox_that_is_not_too_long_is_left_as_it_is(
    author: User, make_user: Make, settings: LazySettings, count: int
) -> None:
    settings.INBOX_MAX = 3
    somebody = make_user()
    for number in range(1, count + 1):
        deliver_row(author, somebody, number, number)
    assert trim.trim(somebody.pk) == 0
    assert len(stored(somebody)) == count
    assert not InboxState.objects.filter(pk=somebody.pk).exists()


def test_inboxes_are_trimmed_together_and_the_very_long_in_steps_of_their_own(
    make_user: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    drain: Make,
) -> None:
    settings.INBOX_MAX = 3
    monkeypatch.setattr(trim, "BATCH", 4)
    monkeypatch.setattr(trim, "TOGETHER", 4)
    people = [make_user() for _ in range(6)]
    authors = [make_user() for _ in people]
    for person, author in zip(people, authors, strict=True):
        relations_actions.follow(person, author)
    drain()
    for (number, person), count in zip(enumerate(people), [2, 5, 7, 3, 12, 8], strict=True):
        for index in range(count):
            deliver_row(authors[number], person, 100 * number + index + 1, index + 1)
    InboxState.objects.filter(pk=people[1].pk).update(inbox_floor=4_000)
    longest = people[4].pk
    assert trim._trim_together({longest: 9_000}) == (0, [longest])
    assert len(stored(people[4])) == 12
    before = [state(person)[1] for person in people]
    assert trim.trim_all([person.pk for person in reversed(people)]) == 4 + 4 + 9 + 5
    assert [stored(person) for person in people] == [
        [1, 2],
        [5],
        [5, 6, 7],
        [1, 2, 3],
        [10, 11, 12],
        [6, 7, 8],
    ]
    assert [state(person)[0] for person in people] == [0, 4, 4, 0, 9, 5]
    changed = [state(person)[1] > one for person, one in zip(people, before, strict=True)]
    assert changed == [False, True, True, False, True, True]
    assert trim.trim_all([person.pk for person in people]) == 0
    for person in people:
        assert_exact(person)


def test_posts_of_one_moment_stay_or_go_together(
    author: User, reader: User, settings: LazySettings
) -> None:
    settings.INBOX_MAX = 3
    for number, seconds in enumerate([1, 2, 2, 2, 2, 3], start=1):
        deliver_row(author, reader, number, seconds)
    assert trim.trim(reader.pk) == 5
    assert stored(reader) == [3]
    assert state(reader)[0] == 2
    assert_exact(reader, 2)


def test_the_floor_never_falls_and_entries_below_it_are_harmless(
    author: User, reader: User, settings: LazySettings
) -> None:
    """A slow chunk and a backfill insert rows below the floor: these count, and are removed."""
    settings.INBOX_MAX = 3
    for number in range(11, 16):
        deliver_row(author, reader, number, number)
    trim.trim(reader.pk)
    assert (stored(reader), state(reader)[0]) == ([13, 14, 15], 12)
    InboxEntry.objects.filter(publish_time=14_000).delete()
    for number in (1, 2, 3):
        deliver_row(author, reader, number, number)
    assert_exact(reader)
    assert trim.trim(reader.pk) == 3
    assert (stored(reader), state(reader)[0]) == ([13, 15], 12)
    deliver_row(author, reader, 9, 9)
    assert trim.trim(reader.pk) == 0
    assert stored(reader) == [9, 13, 15]


def test_a_backfill_of_old_posts_into_a_trimmed_inbox_changes_no_page(
    author: User, reader: User, make_user: Make, settings: LazySettings, drain: Make
) -> None:
    settings.INBOX_MAX, settings.BACKFILL_MAX = 3, 5
    old = make_user()
    for number in range(1, 9):
        place(old, number, number, Mode.ALL)
    for number in range(11, 16):
        deliver_row(author, reader, number, number)
    trim.trim(reader.pk)
    relations_actions.follow(reader, old)
    assert_exact(reader)
    drain()
    assert stored(reader) == [4, 5, 6, 7, 8, 13, 14, 15]
    assert_exact(reader)
    trim.trim(reader.pk)
    assert stored(reader) == [13, 14, 15]
    assert_exact(reader)


def test_a_long_inbox_is_trimmed_in_steps_and_exact_after_each(
    author: User, reader: User, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INBOX_MAX = 3
    monkeypatch.setattr(trim, "BATCH", 4)
    for number, seconds in enumerate([1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9], start=1):
        deliver_row(author, reader, number, seconds)
    assert trim._trim_batch(reader.pk) == (6, True)
    assert (stored(reader), state(reader)[0]) == ([5, 6, 7, 8, 9], 6)
    assert_exact(reader)
    assert trim.trim(reader.pk) == 2
    assert stored(reader) == [7, 8, 9]
    assert_exact(reader)


def test_a_trim_waits_for_nothing_that_was_not_delivered(
    author: User, reader: User, make_post: Make, settings: LazySettings, drain: Make
) -> None:
    """A chunk may run after the trim: its row is below the floor."""
    settings.INBOX_MAX = 2
    late = make_post(author)
    plan.write(late.pk)
    (chunk,) = plan.open_chunks(late.pk)
    for number in range(1, 6):
        newer = deliver_row(author, reader, number, late.position // 1000 + number)
    trim.trim(reader.pk)
    assert state(reader)[0] > late.position // 1000
    assert_exact(reader)
    assert deliver.run_chunk(chunk)
    assert FanOut.objects.get(pk=late.pk).state == FanOut.State.DONE
    assert_exact(reader)
    assert InboxEntry.objects.filter(post=newer).exists()


def test_inboxes_stay_at_their_size_while_posts_come_in(
    author: User,
    reader: User,
    make_user: Make,
    make_post: Make,
    settings: LazySettings,
    drain: Make,
) -> None:
    settings.INBOX_MAX, settings.FANOUT_CHUNK = 12, 2
    people = [reader, *(make_user() for _ in range(4))]
    authors = [author, make_user()]
    for person, one in itertools.product(people, authors):
        relations_actions.follow(person, one)
    drain()
    for number in range(40):
        make_post(authors[number % 2])
        drain()
        for person in people:
            assert len(stored(person)) <= 12
    for person in people:
        assert len(stored(person)) >= 8
        assert_exact(person, 7)


def test_larger_inboxes_are_trimmed_behind_the_chunks_when_it_is_their_turn(
    author: User,
    reader: User,
    make_post: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.INBOX_MAX = 8
    monkeypatch.setattr(trim, "SMALL", 0)
    monkeypatch.setattr(trim, "CHUNKS", 2)  # and each of them samples everybody
    rung: list[tuple[object, ...]] = []
    monkeypatch.setattr(enqueue, "send_last", lambda *words: rung.append(words))
    for number in range(1, 13):
        deliver_row(author, reader, number, number)
    turns = 0
    for _ in range(40):
        post = make_post(author)
        plan.write(post.pk)
        (chunk,) = plan.open_chunks(post.pk)
        rung.clear()
        before = len(stored(reader))
        assert deliver.run_chunk(chunk)
        assert len(stored(reader)) == before + 1
        picked = trim.sampled([reader.pk], post.pk)
        assert rung == ([("feeds.trim_chunk", chunk)] if picked else [])
        tasks.trim_chunk(chunk)
        turns += bool(picked)
        assert len(stored(reader)) == (8 if picked else before + 1)
    assert 5 < turns < 35
    assert_exact(reader, 7)
    tasks.trim_chunk(chunk + 1)


def test_one_of_a_quarter_of_the_size_is_picked_always_the_same_and_everybody_in_turn(
    settings: LazySettings,
) -> None:
    settings.INBOX_MAX = 1000
    people = range(10**18, 10**18 + 1000)
    picks = [trim.sampled(people, 10**18 + 977 * number) for number in range(2000)]
    assert picks[:5] == [trim.sampled(people, 10**18 + 977 * number) for number in range(5)]
    assert 3.6 < sum(map(len, picks)) / len(picks) < 4.4
    turns = [list(people).index(viewer) for viewer in itertools.chain(*picks)]
    assert len(set(turns)) == 1000
    settings.INBOX_MAX = 12
    assert trim.sampled(people, 7) == list(people)
    assert trim.sampled([], 7) == []


def test_the_walk_trims_everybody_in_bounded_steps(
    author: User, make_user: Make, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INBOX_MAX = 3
    people = sorted((make_user() for _ in range(5)), key=lambda person: person.pk)
    for (number, person), count in zip(enumerate(people), [2, 5, 3, 4, 9], strict=True):
        for index in range(count):
            deliver_row(author, person, 100 * number + index + 1, index + 1)
    assert trim.walk(0, 2) == (people[1].pk, 2)
    assert trim.walk(people[1].pk, 2) == (people[3].pk, 1)
    monkeypatch.setattr(trim, "STEP", 2)
    tasks.trim_inboxes()
    assert [len(stored(person)) for person in people] == [2, 3, 3, 3, 3]


def test_an_unfollow_empties_a_trimmed_inbox_and_a_follow_fills_it(
    author: User, reader: User, settings: LazySettings, drain: Make
) -> None:
    settings.INBOX_MAX = 3
    for number in range(1, 8):
        deliver_row(author, reader, number, number)
    trim.trim(reader.pk)
    relations_actions.unfollow(reader, author)
    drain()
    assert stored(reader) == []
    assert_exact(reader)
    relations_actions.follow(reader, author)
    sync.sync_inbox(reader.pk, author.pk)
    assert_exact(reader)
    assert stored(reader) == [1, 2, 3, 4, 5, 6, 7]
    trim.trim(reader.pk)
    assert_exact(reader)
