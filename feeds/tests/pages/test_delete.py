"""Deleting a post asks first without JavaScript too; a post can be deleted and written again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds import actions
from feeds.drafts import actions as drafts
from feeds.models import Draft, Post
from feeds.tests.pictures import make_picture
from interactions import actions as interactions_actions
from interactions.models import Comment
from socialsite.core import errors
from socialsite.core.models import Media

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def test_the_menu_leads_to_a_question_and_only_its_button_deletes(
    browser: Client, me: User
) -> None:
    post = actions.publish(me, content="words of mine")
    path = f"/posts/{post.pk}/delete"
    assert f'href="{path}"' in text_of(browser.get(f"/posts/{post.pk}/menu"))
    page = text_of(browser.get(path))
    assert "Delete this post? This cannot be undone." in page
    assert "words of mine" in page
    assert f'action="{path}"' in page
    assert not Post.objects.get().is_deleted
    assert browser.post(path).status_code == 303
    assert Post.objects.get().is_deleted
    assert browser.get(path).status_code == 404


def test_nobody_is_asked_about_what_they_may_not_delete(browser: Client, make_user: Make) -> None:
    other = make_user()
    post = actions.publish(other, content="of another person")
    comment = interactions_actions.comment(other, post.pk, "theirs too")
    for path in (f"/posts/{post.pk}/delete", f"/posts/{post.pk}/rewrite"):
        assert browser.get(path).status_code == 403
        assert Client().get(path).status_code == 302
    assert browser.post(f"/posts/{post.pk}/rewrite").status_code == 404
    assert browser.get(f"/comments/{comment.pk}/delete").status_code == 403
    assert not Post.objects.get().is_deleted


def test_a_comment_is_deleted_after_a_question(browser: Client, me: User) -> None:
    post = actions.publish(me, content="x")
    comment = interactions_actions.comment(me, post.pk, "hasty words")
    path = f"/comments/{comment.pk}/delete"
    assert f'href="{path}?' in text_of(browser.get(f"/posts/{post.pk}"))
    page = text_of(browser.get(path))
    assert "Delete this comment?" in page
    assert "hasty words" in page
    assert not Comment.objects.get().deleted
    assert browser.post(path).status_code == 303
    assert Comment.objects.get().deleted
    assert browser.get(path).status_code == 404


def test_a_post_is_deleted_and_written_again(browser: Client, me: User, drain: Make) -> None:
    item = make_picture(me)
    Media.objects.update(alt="described")
    post = actions.publish(
        me, kind="article", title="T", content="text", images=[item.pk], visibility="followers"
    )
    path = f"/posts/{post.pk}/rewrite"
    assert "Delete and write again" in text_of(browser.get(f"/posts/{post.pk}/menu"))
    assert "It becomes a draft" in text_of(browser.get(path))
    answer = browser.post(path)
    draft = Draft.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/drafts/{draft.pk}")
    assert Post.objects.get().is_deleted
    drain()  # the draft uses the picture
    assert list(draft.pictures.values_list("media_id", flat=True)) == [item.pk]
    assert Media.objects.get().is_used
    assert (draft.kind, draft.title, draft.content, draft.visibility) == (
        *("article", "T", "text"),
        "followers",
    )
    page = text_of(browser.get(answer["Location"]))
    assert "text</textarea>" in page
    assert 'value="described"' in page
    assert browser.post(path).status_code == 404
    assert Draft.objects.count() == 1


def test_a_post_that_cannot_become_a_draft_stays(me: User, monkeypatch: Any) -> None:
    post = actions.publish(me, content="stays")
    quote = actions.repost(me, post.pk, "look")[0]
    with pytest.raises(errors.Forbidden):
        drafts.rewrite(me, quote.pk)
    monkeypatch.setattr(Draft, "MOST", 0)
    with pytest.raises(errors.QuotaExceeded):
        drafts.rewrite(me, post.pk)
    assert not Post.objects.filter(is_deleted=True).exists()
    assert not Draft.objects.exists()
