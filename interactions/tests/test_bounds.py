"""Lists with nearly all rows hidden: bounded work, and a correct `next`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.test import Client

from interactions import actions, queries
from interactions.models import SubjectType
from interactions.queries import threads
from relations import actions as relations_actions
from socialsite.core.db import page_filling
from socialsite.core.http import page_sizes
from socialsite.core.positions import Page, Position

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of one reads four rows."""
    monkeypatch.setattr(page_filling, "ROUND_MAX", 2)
    monkeypatch.setattr(page_filling, "ROUNDS_MAX", 2)
    monkeypatch.setattr(threads, "SPARE", 0)


def walk(read: Callable[[Position | None], Page[Any]]) -> list[list[Any]]:
    """Read page by page."""
    pages, cursor = [], None
    while True:
        page = read(cursor)
        pages.append(page.items)
        if page.next is None:
            return pages
        cursor = Position.decode(page.next)


def test_people_who_like_something_far_below_those_who_are_hidden(
    me: Any, make_user: Any, make_post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = make_post(make_user()).pk
    shown, *hidden = [make_user() for _ in range(6)]
    for person in (shown, *hidden):
        actions.like(person, POST, post)
    for person in hidden:
        relations_actions.block(me, person)
    pages = walk(lambda cursor: queries.likers(me, POST, post, cursor, 1))
    assert [[one["id"] for one in page] for page in pages] == [[], [str(shown.pk)]]
    monkeypatch.setattr(page_sizes, "PAGE_SIZE", 1)
    browser = Client()
    browser.post("/login", {"username": me.username, "password": "right.pass1"})
    page = browser.get(f"/posts/{post}/likes").content.decode()
    assert 'rel="next"' in page
    assert "Nobody to show" not in page


@pytest.mark.parametrize("sort", ["new", "hot", "pinned", "replies"])
def test_comments_far_below_those_that_are_hidden(
    me: Any, make_user: Any, make_post: Any, sort: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    author, other = make_user(), make_user()
    post = make_post(author).pk
    root = actions.comment(author, post, "root").pk if sort == "replies" else None
    writers = [author, *[other] * 5] if root is None else [*[other] * 5, author]
    made = [actions.comment(writer, post, "hello", root).pk for writer in writers]
    relations_actions.block(me, other)
    if root is not None:
        pages = walk(lambda cursor: queries.replies(me, root, cursor, 1))
        assert [[int(card["id"]) for card in page] for page in pages] == [[], [made[-1]]]
        return
    wanted = [[], [made[0]]]
    if sort == "pinned":
        actions.pin(author, made[0])
        wanted = [[made[0]], []]
    sort = "new" if sort == "pinned" else sort
    pages = walk(lambda cursor: queries.comments(me, post, cursor, 1, sort))
    assert [[int(card["id"]) for card in page] for page in pages] == wanted
    monkeypatch.setattr(page_sizes, "PAGE_SIZE", 1)
    browser = Client()
    browser.post("/login", {"username": me.username, "password": "right.pass1"})
    answer = browser.post(
        f"/posts/{post}/comments",
        {"content": "x" * 1001, "sort": sort},
        headers={"HX-Request": "true"},
    )
    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'rel="next"' in page
    assert "No comments yet" not in page


def test_notifications_far_below_those_that_are_hidden(
    me: Any, make_user: Any, make_post: Any, drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifications = import_module("interactions.queries.notifications")
    monkeypatch.setattr(notifications, "UNREAD_MAX", 1)
    shown, hidden = make_user(), make_user()
    for person in (shown, *[hidden] * 5):
        actions.like(person, POST, make_post(me).pk)
        drain()
    relations_actions.block(me, hidden)  # its events have not run yet
    pages = walk(lambda cursor: queries.notifications(me, cursor, 1))
    assert [[one["actors"][0]["id"] for one in page] for page in pages] == [[], [str(shown.pk)]]
    assert queries.unread_count(me) == (0, False)
    drain()
    assert queries.unread_count(me) == (1, False)
