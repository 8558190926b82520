"""The recommended feed, and pages with hidden posts."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, queries
from feeds.discovery import public_posts
from feeds.models import RecommendedAuthor
from relations import actions as relations_actions
from socialsite.core.db import page_filling
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def recommended(viewer: User | None, size: int = 2) -> list[str]:
    """Walk the recommended feed to its end; every page but the last is full."""
    found: list[str] = []
    cursor = None
    while True:
        page = public_posts.recommended(viewer, cursor, size)
        found += [card["id"] for card in page.items]
        if page.next is None:
            return found
        assert len(page.items) == size
        cursor = Position.decode(page.next)


def test_the_recommended_feed_is_all_public_posts_that_the_reader_may_see(
    make_user: Make, make_post: Make
) -> None:
    reader, good, banned, blocker = (make_user() for _ in range(4))
    relations_actions.follow(reader, good)
    seen_by_guests, seen_by_reader = [], []
    for _ in range(3):
        post = make_post(good)
        seen_by_guests.append(str(post.pk))
        seen_by_reader.append(str(post.pk))
        make_post(good, visibility="followers")
        make_post(banned)
        seen_by_guests.append(str(make_post(blocker).pk))
        actions.delete(good, make_post(good).pk)
    accounts_actions.ban(banned)
    relations_actions.block(blocker, reader)
    assert recommended(None) == seen_by_guests[::-1]
    assert recommended(reader) == seen_by_reader[::-1]


def test_picked_authors_alone_are_recommended(make_user: Make, make_post: Make) -> None:
    picked, other = make_user(), make_user()
    wanted = [str(make_post(picked).pk) for _ in range(3)]
    make_post(other)
    RecommendedAuthor.objects.create(author=picked)
    assert recommended(None) == wanted[::-1]


def test_posts_of_a_banned_author_cost_the_home_feed_one_round(
    make_user: Make, make_post: Make, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, good, bad = make_user(), make_user(), make_user()
    relations_actions.follow(reader, good)
    relations_actions.follow(reader, bad)
    wanted = make_post(good)
    for _ in range(9):
        make_post(bad)
    drain()
    accounts_actions.ban(bad)
    monkeypatch.setattr(page_filling, "ROUNDS_MAX", 3)
    page = queries.home_feed(reader, None, 2)
    assert ([card["id"] for card in page.items], page.next) == ([str(wanted.pk)], None)
