"""Bookmarks: counted like likes, full pages, and private."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from feeds import actions as feeds_actions
from interactions import actions, queries
from interactions.models import Bookmark
from interactions.tests.helpers import drift
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core import errors
from socialsite.core.positions import Position

pytestmark = pytest.mark.django_db

V1 = "/api/v1/"


def walk(viewer: Any, size: int) -> list[list[int]]:
    """Read the whole list, page by page."""
    pages, cursor = [], None
    while True:
        page = queries.bookmarks(viewer, cursor, size)
        pages.append([int(card["id"]) for card in page.items])
        if page.next is None:
            return pages
        cursor = Position.decode(page.next)


def test_put_and_delete_of_a_bookmark_can_be_repeated(mine, author, make_post) -> None:
    post = make_post(author)
    address = f"{V1}posts/{post.pk}/bookmark"
    for method, state, count in (("put", True, 1), ("delete", False, 0)):
        for _ in range(2):
            answer = getattr(mine, method)(address)
            assert (answer.status_code, answer.json()) == (
                200,
                {"bookmarked": state, "bookmark_count": count},
            )
            card = mine.get(f"{V1}posts/{post.pk}").json()
            assert (card["bookmarked"], card["bookmark_count"]) == (state, count)
    assert drift() == []


def test_the_list_has_the_newest_bookmark_first_in_full_pages_without_hidden_posts(
    me, author, make_user, make_post
) -> None:
    blocker = make_user()
    posts = [make_post(author) for _ in range(5)]
    hidden = [make_post(blocker) for _ in range(7)]
    order = [posts[3], *hidden[:3], posts[0], *hidden[3:], posts[4], posts[1], posts[2]]
    for post in order:
        actions.bookmark(me, post.pk)
    Bookmark.objects.update(position=1)  # all in one ms: ties are in order too
    relations_actions.block(blocker, me)
    feeds_actions.delete(author, posts[4].pk)
    kept = sorted((posts[number].pk for number in range(4)), reverse=True)
    for size in (1, 2, 3, 4, 5):
        pages = walk(me, size)
        assert [ident for page in pages for ident in page] == kept
        assert [len(page) for page in pages[:-1]] == [size] * (len(pages) - 1)
    Bookmark.objects.filter(post_id=posts[0].pk).update(position=2)
    assert walk(me, 2)[0][0] == posts[0].pk
    assert all(card["bookmarked"] for card in queries.bookmarks(me, None, 20).items)


def test_bookmarks_are_for_nobody_else(mine, api, author, api_for, make_post) -> None:
    post = make_post(author)
    mine.put(f"{V1}posts/{post.pk}/bookmark")
    assert [item["id"] for item in mine.get(f"{V1}bookmarks").json()["items"]] == [str(post.pk)]
    theirs = api_for(author)
    assert theirs.get(f"{V1}bookmarks").json() == {"items": [], "next": None}
    assert theirs.get(f"{V1}posts/{post.pk}").json()["bookmarked"] is False
    for answer in (api.get(f"{V1}bookmarks"), api.put(f"{V1}posts/{post.pk}/bookmark")):
        assert answer.status_code == 401


def test_a_bookmark_across_a_block_is_404_like_a_missing_post(mine, me, author, make_post) -> None:
    post, other = make_post(author), make_post(author)
    actions.bookmark(me, post.pk)
    relations_actions.block(author, me)
    for method in (mine.put, mine.delete):
        here, nothing = (method(f"{V1}posts/{ident}/bookmark") for ident in (other.pk, 12345))
        assert here.status_code == 404
        assert here.json() == nothing.json()
    assert mine.get(f"{V1}bookmarks").json()["items"] == []
    with pytest.raises(errors.NotFound):
        actions.bookmark(me, post.pk)
    assert drift() == []


def test_the_button_and_the_page_work_without_javascript_and_in_place(
    me, author, make_post
) -> None:
    post = make_post(author, content="worth keeping")
    browser = Client()
    assert browser.get("/bookmarks")["Location"] == "/login?next=%2Fbookmarks"
    browser.post("/login", {"username": me.username, "password": "right.pass1"})
    assert "No bookmarks yet" in browser.get("/bookmarks").content.decode()
    address = f"/posts/{post.pk}/bookmark"
    answer = browser.post(address, {"bookmarked": "1", "next": "/recommended"})
    assert (answer.status_code, answer["Location"]) == (
        303,
        f"/recommended#bookmark-{post.pk}",
    )
    page = " ".join(browser.get("/bookmarks").content.decode().split())
    assert "worth keeping" in page
    button = f'id="bookmark-{post.pk}" data-testid="bookmark" aria-label="Bookmark, 1 bookmark"'
    assert f'{button} aria-pressed="true"' in page
    part = browser.post(address, {"bookmarked": "0"}, headers={"HX-Request": "true"})
    text = part.content.decode()
    assert 'aria-pressed="false"' in text
    assert "<html" not in text
    assert browser.post(address, {"bookmarked": "2"}).status_code == 400


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
def test_many_likes_at_once_count_one_each(make_user, make_post) -> None:
    people = [make_user() for _ in range(3)]
    post = make_post(people[0]).pk

    def toggle(person: Any) -> None:
        for _ in range(15):
            actions.bookmark(person, post)
            actions.unbookmark(person, post)
        actions.bookmark(person, post)

    # Each person twice at once.
    results = at_once([lambda person=person: toggle(person) for person in people * 2])
    assert not any(isinstance(result, Exception) for result in results), results
    assert drift() == []
