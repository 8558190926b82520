"""A form that arrives twice, for instance since its button was pressed twice, has one effect."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from feeds.models import Post
from interactions import actions
from interactions.models import Comment

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["plain", "htmx"])
def test_a_comment_a_reply_and_a_quote_are_written_once(
    make_user: Make, headers: dict[str, str]
) -> None:
    me, author = make_user(), make_user()
    post = feeds_actions.publish(author, content="x")
    parent = actions.comment(author, post.pk, "a question")
    browser = browser_of(me)
    forms: list[tuple[str, dict[str, str]]] = [
        ("comments", {"content": "hm", "once": "a"}),
        ("comments", {"content": "hm", "once": "b", "parent": str(parent.pk)}),
        ("repost", {"content": "look", "once": "c"}),
    ]
    for path, form in forms:
        answers = [
            browser.post(f"/posts/{post.pk}/{path}", form, headers=headers) for _ in range(2)
        ]
        assert {answer.status_code for answer in answers} <= {200, 303}
        assert answers[0].get("Location") == answers[1].get("Location")
    assert Comment.objects.filter(author=me).count() == 2
    assert Post.objects.filter(author=me).count() == 1
    browser.post(f"/posts/{post.pk}/comments", {"content": "hm", "once": "d"})
    assert Comment.objects.filter(author=me).count() == 3


def test_a_comment_is_written_again_after_it_was_deleted(make_user: Make) -> None:
    me = make_user()
    post = feeds_actions.publish(me, content="x")
    form = {"content": "hm", "once": "a"}
    for _ in range(2):
        assert browser_of(me).post(f"/posts/{post.pk}/comments", form).status_code == 303
        actions.delete_comment(me, Comment.objects.filter(deleted=False).get().pk)
    assert Comment.objects.filter(author=me).count() == 2
