"""What writes has a budget: 429 with Retry-After, nothing done, nothing typed lost (T27)."""

from typing import Any

import pytest

from accounts.tests.browsers import browser_of
from feeds import limits as feed_limits
from feeds.models import Post
from interactions import limits
from interactions.models import Bookmark, Comment, Like
from socialsite.core import redis

pytestmark = pytest.mark.django_db

WRITES = {
    "post": (feed_limits.PUBLISH, "post", "posts", {"content": "mine"}),
    "repost": (feed_limits.PUBLISH, "post", "posts/{}/repost", {"content": "look"}),
    "undo repost": (feed_limits.PUBLISH, "delete", "posts/{}/repost", {}),
    "comment": (limits.COMMENT, "post", "posts/{}/comments", {"content": "well"}),
    "like": (limits.MARK, "put", "posts/{}/like", {}),
    "unlike": (limits.MARK, "delete", "posts/{}/like", {}),
    "bookmark": (limits.MARK, "put", "posts/{}/bookmark", {}),
    "unbookmark": (limits.MARK, "delete", "posts/{}/bookmark", {}),
}
PAGES = {
    "post": (feed_limits.PUBLISH, "/posts", {"content": "my words"}, True),
    "repost": (feed_limits.PUBLISH, "/posts/{}/repost", {"content": "my words"}, True),
    "comment": (limits.COMMENT, "/posts/{}/comments", {"content": "my words"}, True),
    "like": (limits.MARK, "/posts/{}/like", {"liked": "1"}, False),
    "bookmark": (limits.MARK, "/posts/{}/bookmark", {"bookmarked": "1"}, False),
}


def nothing_written(post: Post) -> bool:
    tables = (Like, Bookmark, Comment)
    return list(Post.objects.all()) == [post] and not any(t.objects.exists() for t in tables)


@pytest.mark.parametrize("name", WRITES)
def test_an_api_that_writes_has_a_budget(make_user, make_post, api_for, name: str) -> None:
    bucket, method, path, body = WRITES[name]
    me, post = make_user(), make_post(make_user())
    client = api_for(me)

    def send() -> Any:
        address = f"/api/v1/{path.format(post.pk)}"
        return getattr(client, method)(address, body, format="json")

    bucket.take(me.pk, cost=bucket.capacity)
    answer = send()
    assert (answer.status_code, answer.json()["code"]) == (429, 11)
    assert int(answer["Retry-After"]) >= 1
    assert nothing_written(post)
    assert client.get(f"/api/v1/posts/{post.pk}").status_code == 200
    assert client.get(f"/api/v1/posts/{post.pk}/comments").status_code == 200
    redis.forget([bucket.key(me.pk)])
    assert send().status_code in (200, 201, 204)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_writes_has_the_same_and_keeps_what_was_typed(
    make_user, make_post, name: str
) -> None:
    bucket, path, fields, is_form = PAGES[name]
    me, post = make_user(), make_post(make_user())
    browser = browser_of(me)
    bucket.take(me.pk, cost=bucket.capacity)
    for headers in ({}, {"HX-Request": "true"}):
        answer = browser.post(path.format(post.pk), fields, headers=headers)
        page = answer.content.decode()
        assert (answer.status_code, int(answer["Retry-After"]) >= 1) == (429, True)
        assert "Too many requests" in page
        assert ("my words" in page) == is_form
    assert nothing_written(post)
    redis.forget([bucket.key(me.pk)])
    assert browser.post(path.format(post.pk), fields).status_code == 303


def test_another_ones_budget_is_untouched(make_user, make_post, api_for) -> None:
    me, other = make_user(), make_user()
    limits.MARK.take(me.pk, cost=limits.MARK.capacity)
    post = make_post(me)
    assert api_for(other).put(f"/api/v1/posts/{post.pk}/like").status_code == 200
