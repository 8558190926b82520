"""The page of the search: tabs, further pages, mistakes, and its cost."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from feeds import actions as feeds_actions

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
Make = Callable[..., Any]
POST, PERSON = 'data-testid="post"', 'data-testid="person"'


@pytest.fixture
def site(me: User, make_user: Make, drain: Make) -> None:
    """Posts with a word, and people whose names have it."""
    for number in range(23):
        feeds_actions.publish(me, content=f"one tea, number{number} #teatime")
    for number in range(5):
        make_user(f"teapot{number}")
    drain()


def text(address: str, status: int = 200, **headers: str) -> str:
    """Return a page."""
    answer = Client().get(address, headers=headers)
    assert answer.status_code == status, address
    return answer.content.decode()


@pytest.mark.usefixtures("site")
def test_posts_stand_below_some_people_with_such_a_name() -> None:
    page = text("/search?q=tea")
    assert page.count(PERSON) == 3
    assert 'href="/search?q=tea&amp;tab=people"' in page
    assert "number22" in page
    assert "number0 " not in page
    everybody = text("/search?q=tea&tab=people")
    assert everybody.count(PERSON) == 5
    assert "number" not in everybody.split("<main")[1]
    assert "teatime" in text("/search?q=tea&tab=tags")
    assert text("/search?q=number7&tab=posts").count(PERSON) == 0


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("sort", ["top", "new"])
def test_further_pages_go_on_without_the_page_around_them(sort: str) -> None:
    page = text(f"/search?q=tea&sort={sort}")
    link = page.split('data-testid="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    more = text("/search" + link.replace("&amp;", "&"), HX_Request="true")
    assert "<html" not in more
    assert PERSON not in more
    shown = {number for number in range(23) if f"number{number} " in page + more}
    assert shown == set(range(23))
    assert 'data-testid="next"' not in more


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 200, "What are you looking for?"),
        ("?tab=nowhere", 200, "What are you looking for?"),
        ("?q=zebra", 200, "Nothing found"),
        ("?q=zebra&tab=people", 200, "Nobody found"),
        ("?q=zebra&tab=tags", 200, "No tag found"),
        ("?q=tea+before:soon", 400, "Write a day after before:"),
        ("?q=-tea", 400, "Enter a search term."),
        ("?q=" + "a+" * 15, 400, "At most 12 words and filters."),
        ("?q=" + "a" * 201, 400, "At most 200 characters."),
        ("?q=tea&cursor=x", 400, "This is not a cursor."),
    ],
)
def test_empty_and_wrong_searches_explain_themselves(query: str, status: int, words: str) -> None:
    assert words in text(f"/search{query}", status)


def test_a_question_is_shown_as_text() -> None:
    page = text("/search?q=%22%3E%3Chr%3E")
    assert "<hr>" not in page
    assert "&#34;&gt;&lt;hr&gt;" in page


@pytest.mark.full
@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("question", "queries"), [("tea", 1), ("one tea", 2), ('"one tea" #teatime -leaf', 2)]
)
def test_a_warm_page_costs_few_queries(
    question: str, queries: int, api: Any, django_assert_num_queries: Make
) -> None:
    for sort in ("new", "top"):
        address = f"/api/v1/search/posts?sort={sort}"
        first = api.get(address, {"q": question}).content
        with django_assert_num_queries(queries):
            assert api.get(address, {"q": question}).content == first
