"""Pages of tags, without JavaScript."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions as feeds_actions
from feeds.discovery.tags import ranking
from feeds.models import PostTag, TagFollow

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def test_a_tag_in_a_text_links_to_its_page(browser: Client, me: User) -> None:
    feeds_actions.publish(me, content="about #\u8336\u9053# and #Tea")
    home = text_of(browser.get("/"))
    address = "/tags/%E8%8C%B6%E9%81%93"
    assert f'<a class="mention" href="{address}">#\u8336\u9053#</a>' in home
    assert '<a class="mention" href="/tags/tea">#Tea</a>' in home
    for client in (browser, Client()):
        page = text_of(client.get(address))
        assert "#\u8336\u9053</h1>" in page
        assert "1 post today · 1 post this week" in page
        assert 'data-testid="post"' in page


def test_posts_of_the_day_and_of_the_week_are_counted_apart(browser: Client, me: User) -> None:
    for days in (0, 0, 2, 9):
        post = feeds_actions.publish(me, content="#tea")
        PostTag.objects.filter(post=post).update(position=post.position - days * 86_400_000)
    page = text_of(browser.get("/tags/tea"))
    assert "2 posts today · 3 posts this week" in page
    chinese = text_of(browser.get("/tags/tea", headers={"accept-language": "zh-hans"}))
    assert "今日 2 条动态 · 本周 3 条动态" in chinese


def test_a_tag_is_followed_with_a_form(browser: Client, make_user: Make) -> None:
    feeds_actions.publish(make_user(), content="#tea")
    assert "You follow no tags yet" in text_of(browser.get("/tags"))
    answer = browser.post("/tags/tea/follow", {"follow": "1"})
    assert (answer.status_code, answer["Location"]) == (303, "/tags/tea")
    page = text_of(browser.get("/tags/tea"))
    assert 'aria-pressed="true"' in page
    timeline = text_of(browser.get("/tags"))
    assert 'data-testid="post"' in timeline
    assert 'href="/tags/tea"' in timeline
    part = text_of(
        browser.post("/tags/tea/follow", {"follow": "0"}, headers={"HX-Request": "true"})
    )
    assert "<html" not in part
    assert 'aria-pressed="false"' in part
    assert not TagFollow.objects.exists()
    assert browser.post("/tags/tea/follow", {"follow": "2"}).status_code == 400
    assert browser.post("/tags/a b/follow", {"follow": "1"}).status_code == 404


def test_discover_shows_the_tags_in_use(browser: Client, make_user: Make) -> None:
    assert "Tags in use" not in text_of(browser.get("/recommended"))
    feeds_actions.publish(make_user(), content="#tea")
    ranking.rank()
    for client, path in ((browser, "/recommended"), (Client(), "/"), (Client(), "/tags")):
        page = text_of(client.get(path))
        assert "Tags in use" in page
        assert 'href="/tags/tea"' in page


def test_pages_of_no_tag_are_not_found(browser: Client) -> None:
    assert browser.get("/tags/1").status_code == 404
    page = text_of(browser.get("/tags/unused"))
    assert "No posts yet" in page
    assert "0 posts this week" in page
