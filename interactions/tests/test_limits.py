"""Writes have a budget: 429 with Retry-After, no effect, and typed text is kept."""

import time
from typing import Any

import pytest

from accounts.tests.browsers import browser_of
from feeds.models import Post
from interactions import actions
from interactions.models import Bookmark, Comment, Like
from socialsite.core import redis
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.rate_limits.budget import Budget

pytestmark = pytest.mark.django_db

WRITES = {
    "post": (budgets.PUBLISH, "post", "posts", {"content": "mine"}),
    "repost": (budgets.PUBLISH, "post", "posts/{}/repost", {"content": "look"}),
    "undo repost": (budgets.MARK, "delete", "posts/{}/repost", {}),
    "comment": (budgets.COMMENT, "post", "posts/{}/comments", {"content": "well"}),
    "like": (budgets.MARK, "put", "posts/{}/like", {}),
    "unlike": (budgets.MARK, "delete", "posts/{}/like", {}),
    "bookmark": (budgets.MARK, "put", "posts/{}/bookmark", {}),
    "unbookmark": (budgets.MARK, "delete", "posts/{}/bookmark", {}),
    "report": (budgets.REPORT, "post", "reports", {"type": "post", "id": "{}", "reason": "spam"}),
}
PAGES = {
    "post": (budgets.PUBLISH, "/posts", {"content": "my words"}, True),
    "repost": (budgets.PUBLISH, "/posts/{}/repost", {"content": "my words"}, True),
    "comment": (budgets.COMMENT, "/posts/{}/comments", {"content": "my words"}, True),
    "report": (budgets.REPORT, "/report/post/{}", {"reason": "spam", "words": "my words"}, True),
    "undo repost": (budgets.MARK, "/posts/{}/repost/undo", {}, False),
    "like": (budgets.MARK, "/posts/{}/like", {"liked": "1"}, False),
    "bookmark": (budgets.MARK, "/posts/{}/bookmark", {"bookmarked": "1"}, False),
}


def use_up(budget: Budget, owner: int) -> None:
    """Empty a bucket and stop its refill until the next request."""
    buckets.take(budget, owner)
    key, later = Take(budget, owner).key, time.time() + 3600
    redis.call(
        lambda connection: connection.hset(key, mapping={"tokens": 0, "last": f"{later:.6f}"})
    )


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
        values = {name: text.format(post.pk) for name, text in body.items()}
        return getattr(client, method)(address, values, format="json")

    use_up(bucket, me.pk)
    answer = send()
    assert (answer.status_code, answer.json()["code"]) == (429, 11)
    assert int(answer["Retry-After"]) >= 1
    assert nothing_written(post)
    assert client.get(f"/api/v1/posts/{post.pk}").status_code == 200
    assert client.get(f"/api/v1/posts/{post.pk}/comments").status_code == 200
    redis.invalidate([Take(bucket, me.pk).key])
    assert send().status_code in (200, 201, 204)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_writes_has_the_same_and_shows_the_input(
    make_user, make_post, name: str
) -> None:
    bucket, path, fields, is_form = PAGES[name]
    me, post = make_user(), make_post(make_user())
    browser = browser_of(me)
    for headers in ({}, {"HX-Request": "true"}):
        use_up(bucket, me.pk)
        answer = browser.post(path.format(post.pk), fields, headers=headers)
        page = answer.content.decode()
        assert (answer.status_code, int(answer["Retry-After"]) >= 1) == (429, True)
        assert "Too many requests" in page
        assert not is_form or "my words" in page or headers
    assert nothing_written(post)
    redis.invalidate([Take(bucket, me.pk).key])
    assert browser.post(path.format(post.pk), fields).status_code == 303


def test_another_ones_budget_is_untouched(make_user, make_post, api_for) -> None:
    me, other = make_user(), make_user()
    use_up(budgets.MARK, me.pk)
    post = make_post(me)
    assert api_for(other).put(f"/api/v1/posts/{post.pk}/like").status_code == 200


def test_pins_and_settings_have_the_budget_of_marks(make_user, make_post, api_for) -> None:
    me = make_user()
    post = make_post(me)
    comment = actions.comment(me, post.pk, "well")
    browser, client = browser_of(me), api_for(me, "chrome")
    pin, settings = f"/comments/{comment.pk}/pin", f"/posts/{post.pk}/comment-settings"
    for send in (
        lambda: client.put(f"/api/v1{pin}"),
        lambda: client.delete(f"/api/v1{pin}"),
        lambda: client.patch(f"/api/v1{settings}", {"status": "closed"}, format="json"),
        lambda: browser.post(pin, {"pinned": "1"}),
        lambda: browser.post(settings, {"status": "closed"}),
    ):
        use_up(budgets.MARK, me.pk)
        assert send().status_code == 429


def test_a_lost_response_is_repeated_without_a_budget(make_user, api_for) -> None:
    me = make_user()
    client = api_for(me)

    def send(key: str) -> Any:
        headers = {"Idempotency-Key": key}
        return client.post("/api/v1/posts", {"content": "once"}, format="json", headers=headers)

    first = send("one")
    use_up(budgets.PUBLISH, me.pk)
    assert (send("one").json(), send("two").status_code) == (first.json(), 429)
    assert Post.objects.count() == 1
