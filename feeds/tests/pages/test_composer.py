"""The composer's form without JavaScript: sent twice it has one effect, and it keeps pictures."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from feeds import actions
from feeds.models import Draft, Post
from feeds.tests.pictures import make_picture
from socialsite.core.models import Media
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HTMX = {"HX-Request": "true"}


def test_a_form_that_arrives_twice_publishes_once(browser: Client) -> None:
    form = {"content": "once", "once": "abc-123_X"}
    for _ in range(2):
        answer = browser.post("/posts", form)
        assert (answer.status_code, answer["Location"]) == (303, "/")
    assert Post.objects.count() == 1
    # The browser may show the same form again after Back: other words are another post.
    browser.post("/posts", {**form, "content": "something else"})
    browser.post("/posts", {**form, "once": "another"})
    browser.post("/posts", {"content": "once"})
    assert Post.objects.count() == 4


def test_a_repeat_is_shown_the_post_and_takes_no_budget(browser: Client, settings: Any) -> None:
    settings.BUDGETS = {**settings.BUDGETS, budgets.PUBLISH.name: Rate(1, 1)}
    form = {"content": "mine alone", "once": "abc"}
    for _ in range(2):
        answer = browser.post("/posts", form, headers=HTMX)
        assert answer.status_code == 200
        assert answer.content.decode().count("mine alone") == 1
        assert answer.content.decode().count("<article") == 1


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_forms_that_arrive_at_once_publish_once(browser: Client) -> None:
    def send(_number: int) -> int:
        try:
            return browser.post("/posts", {"content": "once", "once": "abc"}).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(send, range(4))) == {303}
    assert Post.objects.count() == 1


def test_a_draft_that_is_saved_twice_is_one(browser: Client) -> None:
    answers = [browser.post("/drafts", {"content": "later", "once": "abc"}) for _ in range(2)]
    draft = Draft.objects.get()
    assert [answer["Location"] for answer in answers] == [f"/drafts/{draft.pk}"] * 2


def test_the_page_after_an_accepted_form_names_its_key(browser: Client, me: User) -> None:
    assert "data-sent" not in browser.get("/").content.decode()
    answer = browser.post("/posts", {"content": "x" * 2001, "once": "abc"})
    assert answer.status_code == 400
    assert "data-sent" not in browser.get("/").content.decode()
    answer = browser.post("/posts", {"content": "x", "once": "abc"})
    cookie = answer.cookies["sent"]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 120)
    assert 'data-sent="abc"' in browser.get("/").content.decode()
    for bad in ("", "a b", 'x"y', "é", "x" * 41):
        browser.cookies.pop("sent", None)
        assert "sent" not in browser.post("/posts", {"content": bad + "y", "once": bad}).cookies


def test_pictures_that_were_uploaded_before_are_published_in_order(
    browser: Client, me: User
) -> None:
    one, two = make_picture(me, "one"), make_picture(me, "two")
    form = {"keep": [str(two.pk), str(one.pk)], f"alt-{two.pk}": " The  second\n"}
    assert browser.post("/posts", form).status_code == 303
    images = Post.objects.get().content_row.images
    assert [(image["id"], image["alt"]) for image in images] == [
        (str(two.pk), "The second"),
        (str(one.pk), ""),
    ]


@pytest.mark.parametrize("path", ["/posts", "/drafts"])
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_nothing_is_published_without_a_picture_that_is_gone(
    browser: Client, me: User, make_user: Make, path: str, headers: dict[str, str]
) -> None:
    mine, foreign = make_picture(me, "mine"), make_picture(make_user(), "foreign")
    form = {"content": "look", f"alt-{foreign.pk}": "mine"}
    for gone in (str(foreign.pk), "17"):
        sent = {**form, "keep": [gone, str(mine.pk)]}
        answer = browser.post(path, sent, headers=headers)
        page = answer.content.decode()
        assert answer.status_code == 400
        assert "Some pictures are no longer stored" in page
        assert f'name="keep" value="{mine.pk}" checked' in page
        assert f'value="{gone}"' not in page
    assert Media.objects.get(pk=foreign.pk).alt == ""
    assert not Post.objects.exists()
    assert not Draft.objects.exists()
    # A video has no pictures.
    video = {**sent, "kind": "video", "video_url": "https://videos.example/1"}
    assert browser.post("/posts", video).status_code == 303


def test_a_refused_form_keeps_its_pictures(browser: Client, me: User) -> None:
    item = make_picture(me, "mine")
    form = {"content": "x" * 2001, "keep": str(item.pk), f"alt-{item.pk}": "better words"}
    for headers in ({}, HTMX):
        answer = browser.post("/posts", form, headers=headers)
        page = answer.content.decode()
        assert answer.status_code == 400
        assert f'name="keep" value="{item.pk}" checked' in page
        assert 'value="better words"' in page
        assert 'data-keep="typed"' in page
        assert "x" * 2001 in page
    many = [str(make_picture(me, f"x{n}").pk) for n in range(10)]
    assert "At most 9 pictures" in browser.post("/posts", {"keep": many}).content.decode()
    assert browser.post("/posts", {"keep": "x"}).status_code == 400
    assert not Post.objects.exists()


def test_a_lost_session_leads_back_to_the_form(me: User) -> None:
    post = actions.publish(me, content="mine")
    path = f"/posts/{post.pk}/edit"
    answer = Client().post(path, {"content": "y"}, headers={"referer": f"http://testserver{path}"})
    assert answer.status_code == 401
    assert f'href="/login?next=%2Fposts%2F{post.pk}%2Fedit"' in answer.content.decode()
    answer = Client().post(path, headers={"referer": "https://evil.example/"})
    assert 'href="/login">' in answer.content.decode()
