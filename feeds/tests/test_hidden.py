"""Pages whose newest posts are all hidden: the further posts that they read are right as well."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import User
from feeds import actions, queries, tiers
from feeds.models import Mode, Post
from relations import actions as relations_actions
from socialsite.core import redis

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


@pytest.fixture
def pushed(reader: User, make_user: Make, drain: Make) -> User:
    return follow(reader, make_user(), drain)


@pytest.fixture
def pulled(reader: User, make_user: Make, drain: Make) -> User:
    return follow(reader, make_user(), drain)


def follow(reader: User, author: User, drain: Make) -> User:
    relations_actions.follow(reader, author)
    drain()
    return author


def pull(author: User, monkeypatch: pytest.MonkeyPatch, make_post: Make, *at: int) -> list[Post]:
    """Publish posts that are pulled."""
    with monkeypatch.context() as patch:
        patch.setattr(tiers, "mode_for", lambda followers, before: Mode.NONE)
        return [make_post(author, at_ms=at_ms) for at_ms in at]


def hide(author: User, make_post: Make, drain: Make, *at: int) -> None:
    """Publish posts and delete them; inboxes still have them."""
    posts = [make_post(author, at_ms=at_ms) for at_ms in at]
    drain()
    for post in posts:
        actions.delete(author, post.pk)


def shown(reader: User, size: int) -> list[int]:
    return [int(card["id"]) for card in queries.home_feed(reader, None, size).items]


def test_a_pulled_post_of_the_very_ms_where_the_inbox_was_read_to_is_on_the_page(
    reader: User,
    pushed: User,
    pulled: User,
    make_post: Make,
    drain: Make,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also a post missing in its author's cached list, which was cut in the middle of that ms."""
    settings.MAX_CACHED_POST_SIZE, settings.MIN_CACHED_POST_SECONDS = 1, 0
    for _ in range(2):
        make_post(pushed, at_ms=1000)
    older, newer = pull(pulled, monkeypatch, make_post, 1000, 1000)
    hide(pushed, make_post, drain, *range(2000, 2006))
    for _ in range(2):  # the second time from the cache
        assert shown(reader, 2) == [newer.pk, older.pk]


def test_a_wrong_guess_of_an_author_is_corrected_when_the_post_is_read(
    reader: User,
    pushed: User,
    pulled: User,
    make_post: Make,
    drain: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post, newer = pull(pulled, monkeypatch, make_post, 1000, 3000)
    hide(pushed, make_post, drain, *range(2000, 2003))
    assert shown(reader, 1) == [newer.pk]
    # The process still takes it for the newest, and prefetches its author.
    actions.delete(pulled, newer.pk)
    redis.invalidate([f"person:{pulled.pk}"])
    assert shown(reader, 1) == [post.pk]
