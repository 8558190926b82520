"""A form that the browser shows again after Back, or sends again since its answer was lost."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from feeds import actions
from feeds.drafts import actions as draft_actions
from feeds.models import Draft, Post
from socialsite.core.errors import Unavailable

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HTMX = {"HX-Request": "true"}


def there() -> Post:
    return Post.objects.get(is_deleted=False)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
def test_a_form_publishes_again_what_was_deleted(
    browser: Client, me: User, headers: dict[str, str]
) -> None:
    form = {"content": "once", "once": "abc"}
    for _ in range(2):
        for _ in range(2):
            assert browser.post("/posts", form, headers=headers).status_code in (200, 303)
        actions.delete(me, there().pk)
    assert Post.objects.count() == 2


def test_a_form_quotes_again_what_was_deleted(browser: Client, me: User, make_user: Make) -> None:
    path = f"/posts/{actions.publish(make_user(), content='x').pk}/repost"
    form = {"content": "look", "once": "abc"}
    first = browser.post(path, form)["Location"]
    assert browser.post(path, form)["Location"] == first
    actions.delete(me, int(first.rpartition("/")[2]))
    assert browser.post(path, form)["Location"] != first
    assert Post.objects.filter(author=me, is_deleted=False).count() == 1


def test_a_form_saves_again_a_draft_that_was_published(browser: Client, me: User) -> None:
    form = {"content": "later", "once": "abc"}
    first = browser.post("/drafts", form)["Location"]
    draft_actions.publish(me, Draft.objects.get().pk)
    answer = browser.post("/drafts", form)
    assert (answer.status_code, answer["Location"]) == (303, f"/drafts/{Draft.objects.get().pk}")
    assert answer["Location"] != first


@pytest.mark.parametrize("end", ["", "/publish"], ids=["composer", "list"])
def test_a_draft_that_is_published_twice_is_one_post(browser: Client, me: User, end: str) -> None:
    path = f"/drafts/{draft_actions.create(me, {'content': 'before'}).pk}{end}"
    form = {"content": "before", "act": "publish", "once": "abc"}
    for _ in range(2):
        answer = browser.post(path, form)
        assert (answer.status_code, answer["Location"]) == (303, "/")
        assert answer.cookies["sent"].value == "abc"
    assert there().content_row.content == "before"
    assert browser.post(path, {**form, "once": "other"}).status_code == 404
    actions.delete(me, there().pk)
    assert browser.post(path, form).status_code == 404


def test_the_list_of_drafts_has_a_key_in_each_form(browser: Client, me: User) -> None:
    draft_actions.create(me, {"content": "x"})
    page = browser.get("/drafts").content.decode()
    assert 'name="once"' in page.partition("/publish")[2].partition("</form>")[0]


def test_a_new_draft_whose_publication_failed_is_published_by_the_repeat(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"content": "words", "act": "publish", "once": "abc"}

    def fail(*_args: Any) -> None:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(draft_actions, "publish", fail)
        assert browser.post("/drafts", form).status_code == 503
    assert not Post.objects.exists()
    for _ in range(2):
        answer = browser.post("/drafts", form)
        assert (answer.status_code, answer["Location"]) == (303, "/")
    assert there().content_row.content == "words"
    assert not Draft.objects.exists()
