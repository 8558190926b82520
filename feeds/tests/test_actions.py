"""Publishing, deleting and the read mark."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from accounts.models import User
from feeds import actions, queries, tiers
from feeds.models import InboxState, Mode, Post
from relations import actions as relations_actions
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def read_first_page(reader: User, size: int = 10) -> None:
    actions.mark_first_page_read(reader.pk, queries.home_feed(reader, None, size).items)


def test_deleting_a_post_one_may_not_see_answers_as_if_there_were_none(
    make_user: Make, make_post: Make
) -> None:
    author, stranger, blocked = make_user(), make_user(), make_user()
    relations_actions.block(author, blocked)
    public, private = make_post(author), make_post(author, visibility="followers")
    with pytest.raises(Forbidden):
        actions.delete(stranger, public.pk)
    for actor, post in ((stranger, private), (blocked, public), (blocked, private)):
        with pytest.raises(NotFound):
            actions.delete(actor, post.pk)
    assert Post.objects.filter(is_deleted=True).count() == 0
    actions.delete(author, private.pk)
    with pytest.raises(NotFound):
        actions.delete(stranger, private.pk)


def test_new_posts_of_others_are_counted_until_the_first_page_was_read(
    make_user: Make, make_post: Make, drain: Make
) -> None:
    reader, author, other = make_user(), make_user(), make_user()
    relations_actions.follow(reader, author)
    make_post(author)
    make_post(other)
    make_post(reader)
    assert queries.new_count(reader) == (1, False)
    read_first_page(reader)
    assert queries.new_count(reader) == (0, False)
    gone = make_post(author)
    make_post(author)
    drain()
    assert queries.new_count(reader) == (2, False)
    actions.delete(author, gone.pk)
    assert queries.new_count(reader) == (1, False)
    relations_actions.unfollow(reader, author)
    assert queries.new_count(reader) == (0, False)


def test_the_count_stops_at_99(
    make_user: Make, make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "NEW_COUNT_MAX", 4)
    reader, author = make_user(), make_user()
    relations_actions.follow(reader, author)
    for _ in range(4):
        make_post(author)
    assert queries.new_count(reader) == (4, False)
    make_post(author)
    assert queries.new_count(reader) == (4, True)


def test_the_count_fetches_no_texts(
    make_user: Make, make_post: Make, django_assert_max_num_queries: Make
) -> None:
    reader, author = make_user(), make_user()
    relations_actions.follow(reader, author)
    make_post(author)
    with django_assert_max_num_queries(14) as captured:
        queries.new_count(reader)
    assert not any("postcontent" in query["sql"] for query in captured.captured_queries)


def test_the_read_mark_never_moves_back(make_user: Make) -> None:
    reader = make_user()
    for position in ((5, 7), (5, 6), (4, 9), (5, 8), (6, 1)):
        actions.mark_read(reader.pk, Position(*position))
    state = InboxState.objects.get(viewer=reader)
    assert (state.read_ts, state.read_id) == (6, 1)
    actions.mark_read(reader.pk, Position(5, 99))
    state.refresh_from_db()
    assert (state.read_ts, state.read_id) == (6, 1)


# --- late posts ---------------------------------------------------------------------------------
@pytest.fixture
def late(make_user: Make, make_post: Make) -> tuple[User, User, int]:
    """A reader who saw a first page, an author they follow, and the time of its newest post."""
    reader, author = make_user(), make_user()
    relations_actions.follow(reader, author)
    now = make_post(author).position
    for seconds in (1, 30):
        make_post(author, at_ms=now - seconds * 1000)
    read_first_page(reader)
    return reader, author, now


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("before_ms", [0, 1, 999, 1000, 1001, 9_999])
def test_a_post_that_comes_in_late_among_shown_posts_is_new_until_it_is_seen(
    late: tuple[User, User, int], make_post: Make, drain: Make, before_ms: int, mode: Mode
) -> None:
    """Its position is below the read mark, but no page has shown it."""
    reader, author, now = late
    with mock.patch.object(tiers, "mode_for", return_value=mode):
        post = make_post(author, at_ms=now - before_ms)
    assert queries.new_count(reader) == (1, False)
    drain()
    assert queries.new_count(reader) == (1, False)
    read_first_page(reader)
    assert queries.new_count(reader) == (0, False)
    actions.delete(author, post.pk)
    assert queries.new_count(reader) == (0, False)


def test_posts_that_come_in_later_than_that_are_not_new(
    late: tuple[User, User, int], make_post: Make
) -> None:
    reader, author, now = late
    for before_ms in (actions.LATE_MS, actions.LATE_MS + 1, 29_000, 31_000):
        make_post(author, at_ms=now - before_ms)
    assert queries.new_count(reader) == (0, False)


def test_late_posts_of_oneself_and_of_unfollowed_authors_are_not_new(
    late: tuple[User, User, int], make_post: Make
) -> None:
    reader, author, now = late
    make_post(reader, at_ms=now - 500)
    make_post(author, at_ms=now - 500)
    assert queries.new_count(reader) == (1, False)
    relations_actions.unfollow(reader, author)
    assert queries.new_count(reader) == (0, False)


def test_late_posts_are_found_below_more_new_ones_than_a_page(
    late: tuple[User, User, int], make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, author, now = late
    make_post(author, at_ms=now - 9_000)
    for _ in range(7):
        make_post(author)
    assert queries.new_count(reader) == (8, False)
    monkeypatch.setattr(queries, "NEW_COUNT_MAX", 6)
    assert queries.new_count(reader) == (6, True)


def test_late_posts_are_found_below_posts_of_oneself(
    late: tuple[User, User, int], make_post: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All posts below the mark are checked, not only the first ones."""
    reader, author, now = late
    monkeypatch.setattr(queries, "NEW_COUNT_MAX", 2)
    make_post(author, at_ms=now - 9_000)
    for number in range(4):
        make_post(reader, at_ms=now - number)
    assert queries.new_count(reader) == (1, False)
