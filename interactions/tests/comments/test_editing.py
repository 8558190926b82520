"""Edits of comments: versions, who may, the text that readers see, the page."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.tests.browsers import text_of
from feeds import actions as feeds_actions
from interactions import actions, queries
from interactions.models import NotificationCause
from relations import actions as relations_actions
from socialsite.core.errors import CommentsClosed, Forbidden, InvalidInput, NotFound, StaleVersion
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

CONFLICT = 'data-testid="edit-conflict"'


@pytest.fixture
def me(make_user: Any) -> Any:
    return make_user("writer1")


@pytest.fixture
def post(make_user: Any, make_post: Any) -> Any:
    return make_post(make_user("host1"))


@pytest.fixture
def mine(me: Any, post: Any) -> Any:
    return actions.comment(me, post.pk, "first")


@pytest.fixture
def browser(me: Any) -> Client:
    client = Client()
    client.cookies["access"] = accounts_actions.sign_in(me, client="chrome").access
    return client


# --- the action ---------------------------------------------------------------------------------
def test_an_edit_changes_the_text_for_every_reader(me: Any, post: Any, mine: Any) -> None:
    before = queries.comment(None, mine.pk)
    assert (before["version"], before["edited_at"]) == (1, None)
    actions.edit_comment(me, mine.pk, " second\n", 1)
    (card,) = queries.comments(None, post.pk).items
    assert (card["content"], card["version"]) == ("second", 2)
    assert str(card["edited_at"]) >= card["created_at"] == before["created_at"]


def test_an_edit_of_another_version_or_without_a_change_writes_nothing(me: Any, mine: Any) -> None:
    actions.edit_comment(me, mine.pk, "first ", 1)
    assert queries.comment(None, mine.pk)["version"] == 1
    assert not Event.objects.filter(type="CommentEdited").exists()
    actions.edit_comment(me, mine.pk, "second", 1)
    for version in (1, 3):
        with pytest.raises(StaleVersion):
            actions.edit_comment(me, mine.pk, "third", version)
    for words in ("", "x" * 1001):
        with pytest.raises(InvalidInput):
            actions.edit_comment(me, mine.pk, words, 2)
    assert queries.comment(None, mine.pk)["content"] == "second"


def test_only_the_author_edits_while_they_see_the_post_and_its_comments_are_open(
    me: Any, make_user: Any, post: Any, mine: Any
) -> None:
    host = type(me).objects.get(pk=post.author_id)
    for other in (host, make_user()):
        with pytest.raises(Forbidden):
            actions.edit_comment(other, mine.pk, "not mine", 1)
    actions.set_comment_status(host, post.pk, "closed")
    with pytest.raises(CommentsClosed):
        actions.edit_comment(me, mine.pk, "second", 1)
    actions.set_comment_status(host, post.pk, "featured")
    actions.edit_comment(me, mine.pk, "second", 1)
    feeds_actions.edit(host, post.pk, 1, visibility="followers")
    with pytest.raises(NotFound):
        actions.edit_comment(me, mine.pk, "third", 2)
    relations_actions.follow(me, host)
    actions.edit_comment(me, mine.pk, "third", 2)
    relations_actions.block(host, me)
    with pytest.raises(NotFound):
        actions.edit_comment(me, mine.pk, "fourth", 3)


def test_a_deleted_comment_cannot_be_edited(me: Any, post: Any, mine: Any) -> None:
    reply = actions.comment(me, post.pk, "answer", mine.pk)
    actions.delete_comment(me, mine.pk)
    with pytest.raises(NotFound):
        actions.edit_comment(me, mine.pk, "back again", 1)
    card = queries.comment(None, mine.pk)
    assert (card["content"], card["edited_at"]) == ("", None)
    actions.edit_comment(me, reply.pk, "another answer", 1)


def test_an_edit_notifies_those_whom_it_names_and_takes_it_back_from_the_others(
    me: Any, make_user: Any, post: Any, drain: Any
) -> None:
    anna, bert = make_user("anna"), make_user("bert")
    mine = actions.comment(me, post.pk, "hello @anna and @host1")
    drain()
    assert queries.unread_count(anna)[0] == 1
    actions.edit_comment(me, mine.pk, "hello @bert", 1)
    drain()
    assert queries.notifications(anna).items == []
    (one,) = queries.notifications(bert).items
    assert (one["kind"], one["subject"]["preview"]) == ("mentioned", "hello @bert")
    host = type(me).objects.get(pk=post.author_id)
    assert [item["kind"] for item in queries.notifications(host).items] == ["commented"]
    actions.delete_comment(me, mine.pk)
    drain()
    assert not NotificationCause.objects.filter(stands=True).exists()


# --- the API ------------------------------------------------------------------------------------
def test_the_api_edits_a_comment(me: Any, api_for: Any, mine: Any) -> None:
    client, address = api_for(me), f"/api/v1/comments/{mine.pk}"
    answer = client.patch(address, {"content": "second", "version": 1}, format="json")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["content"], body["version"]) == ("second", 2)
    assert body["edited_at"].endswith("Z")
    stale = client.patch(address, {"content": "third", "version": 1}, format="json")
    assert (stale.status_code, stale.json()["code"]) == (409, 29)
    for wrong in ({}, {"content": "x"}, {"version": 2}, {"version": 0, "content": "x"}):
        assert client.patch(address, wrong, format="json").json()["code"] == 13


# --- the page -----------------------------------------------------------------------------------
def test_the_page_edits_a_comment_and_the_thread_says_so(
    browser: Client, post: Any, mine: Any
) -> None:
    address = f"/comments/{mine.pk}/edit"
    page = text_of(browser.get(f"/posts/{post.pk}"))
    assert f'href="{address}"' in page
    assert "comment-edited" not in page
    form = text_of(browser.get(address))
    assert ">first</textarea>" in form
    assert 'name="version" value="1"' in form
    answer = browser.post(address, {"content": "second", "version": "1"})
    assert (answer.status_code, answer["Location"]) == (
        303,
        f"/comments/{mine.pk}/replies#comment-{mine.pk}",
    )
    for path in (f"/posts/{post.pk}", f"/comments/{mine.pk}/replies"):
        page = " ".join(text_of(Client().get(path)).split())
        assert re.search(r'data-testid="comment-edited">edited <time datetime="[^"]+">now<', page)
        assert address not in page


def test_a_conflict_shows_both_texts_and_an_error_keeps_the_typed_one(
    browser: Client, me: Any, mine: Any
) -> None:
    address = f"/comments/{mine.pk}/edit"
    actions.edit_comment(me, mine.pk, "from elsewhere", 1)
    page = text_of(browser.post(address, {"content": "typed", "version": "1"}), 409)
    assert CONFLICT in page
    assert page.index(CONFLICT) < page.index("from elsewhere") < page.index(">typed</textarea>")
    assert 'name="version" value="2"' in page
    long = "x" * 1001
    page = text_of(browser.post(address, {"content": long, "version": "2"}), 422)
    assert f">{long}</textarea>" in page
    assert 'id="err-content"' in page
    page = text_of(browser.post(address, {"content": "typed", "version": "x"}), 422)
    assert 'id="err-all"' in page


def test_the_page_is_for_the_author_alone(
    browser: Client, post: Any, make_user: Any, mine: Any
) -> None:
    other = actions.comment(make_user(), post.pk, "not yours")
    text_of(browser.get(f"/comments/{other.pk}/edit"), 403)
    assert Client().get(f"/comments/{mine.pk}/edit").status_code != 200
