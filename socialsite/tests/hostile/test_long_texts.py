"""The cost of pages with hostile texts is proportional to their length."""

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from feeds.models import Kind, PostContent
from socialsite.core.text import markdown
from socialsite.pages import articles, cached_html, jinja
from socialsite.tests.hostile import linear

pytestmark = [pytest.mark.django_db, pytest.mark.once]

MOST = PostContent.TEXT_MAX[Kind.ARTICLE]


def brackets(size: int) -> str:
    return "x@y " + ")" * (size - 6) + "a)"


@pytest.fixture
def publish(make_user, api_for) -> Callable[[str], str]:
    """Return a function that publishes an article by the API and returns its page's address."""
    author: APIClient = api_for(make_user())

    def make(text: str) -> str:
        body = {"kind": "article", "title": "t", "content": text}
        answer = author.post("/api/v1/posts", body, format="json")
        assert answer.status_code == 201
        return f"/posts/{answer.json()['id']}"

    return make


def clear_caches() -> None:
    """Empty the caches of the process."""
    jinja._linked.cache.clear()
    articles._article.cache.clear()
    markdown._read.cache.clear()
    cached_html._part.cache.clear()


def view(address: str) -> str:
    """Return a page for a guest."""
    answer = Client().get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_article_of_closing_brackets_is_shown_in_linear_time(publish) -> None:
    addresses = {len(text): publish(text) for text in map(brackets, _halves(MOST))}

    def show(text: str) -> None:
        clear_caches()
        assert text in view(addresses[len(text)])

    view(addresses[MOST // 16])  # compiles the templates
    # The largest measured length is twice this one, the smallest a sixteenth.
    assert linear.growth(show, brackets, MOST // 2) <= linear.RATIO


def _halves(size: int) -> list[int]:
    return [size // 2**half for half in range(6)]


def test_a_text_is_read_once_however_often_and_whenever_it_is_shown(publish, monkeypatch) -> None:
    read: list[str] = []
    parse = markdown.parse
    monkeypatch.setattr(markdown, "parse", lambda text: read.append(text) or parse(text))
    address = publish(brackets(MOST))
    clear_caches()
    read.clear()
    for _ in range(3):
        view(address)
        cached_html._part.cache.clear()  # as when a minute has passed
    # For the page, and for the words of its card.
    assert read == [brackets(MOST)] * 2


def test_posts_full_of_at_signs_cost_no_more_than_others(make_user, make_post) -> None:
    author = make_user()

    def cost(text: str) -> float:
        for number in range(20):
            make_post(author, f"{text}{number}")

        def show(_text: str) -> None:
            clear_caches()
            assert view("/recommended").count(text[:400]) == 20

        return min(linear.seconds(show, "") for _ in range(3))

    ordinary = cost("These are words of no meaning at all. " * 13)
    assert cost("@" * 479 + " x") < 3 * ordinary
