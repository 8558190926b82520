"""A page that refuses a form shows its words, so that nobody has to type them again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from interactions import actions as interactions_actions
from relations import actions as relations_actions
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.rate_limits.budget import Rate

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HERE = {"origin": "http://testserver"}
WORDS = "words <b>of mine</b>"
SHOWN = "words &lt;b&gt;of mine&lt;/b&gt;</textarea>"


def send(client: Client, path: str, **form: Any) -> Any:
    return client.post(path, {"content": WORDS, **form}, headers=HERE)


def strict(client: Client) -> Client:
    """Return a browser that has the cookies of another one and checks its token."""
    found = Client(enforce_csrf_checks=True)
    found.cookies = client.cookies
    return found


def test_a_lost_token_and_a_lost_session_show_the_words(make_user: Make) -> None:
    guest = Client(enforce_csrf_checks=True)
    guest.get("/login")
    token = guest.cookies["csrf"].value
    for client, status in ((strict(browser_of(make_user())), 403), (guest, 401)):
        answer = send(client, "/posts", title="T", csrfmiddlewaretoken=token)
        assert answer.status_code == status
        assert "T\n\n" + SHOWN in answer.content.decode()


def test_every_field_in_which_people_write_is_shown(make_user: Make) -> None:
    form: dict[str, Any] = {"bio": "my bio", "place": "my place", "links": ["link 1", "link 2"]}
    form |= {"option-0": "tea", "option-7": "coffee", "video_url": "a video", "alt-12": "a tree"}
    answer = send(strict(browser_of(make_user())), "/settings/profile", **form, password="secret1")
    assert answer.status_code == 403
    texts = ["my place", "my bio", "link 1", "link 2", SHOWN[:-11], "a video", "tea", "coffee"]
    assert "\n\n".join([*texts, "a tree"]) in answer.text
    assert "secret1" not in answer.text


def test_what_another_site_sends_is_not_shown(make_user: Make) -> None:
    client = strict(browser_of(make_user()))
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {}):
        answer = client.post("/posts", {"content": WORDS}, headers=headers)
        assert answer.status_code == 403
        assert SHOWN not in answer.content.decode()


def test_malformed_forms_without_a_token_are_refused_as_ever(make_user: Make) -> None:
    client = strict(browser_of(make_user()))
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        answer = client.post("/posts", b"--x\r\nbad", content_type=kind, headers=HERE)
        assert answer.status_code == 403


def test_every_form_shows_its_words_when_the_person_is_too_fast(
    make_user: Make, settings: Any
) -> None:
    me, author = make_user(), make_user()
    mine = feeds_actions.publish(me, content="mine")
    theirs = feeds_actions.publish(author, content="theirs")
    comment = interactions_actions.comment(me, theirs.pk, "first")
    rows = (budgets.PUBLISH, budgets.DRAFT, budgets.COMMENT, budgets.REPORT, budgets.EDIT)
    settings.BUDGETS = {**settings.BUDGETS, **{row.name: Rate(1, 1) for row in rows}}
    for row in rows:
        buckets.spend(row, me.pk)
    forms = {
        "/posts": {},
        "/drafts": {},
        f"/posts/{mine.pk}/edit": {"version": "1"},
        f"/posts/{theirs.pk}/repost": {},
        f"/posts/{theirs.pk}/comments": {},
        f"/posts/{theirs.pk}/comments#reply": {"parent": str(comment.pk)},
        f"/comments/{comment.pk}/edit": {"version": "1"},
        f"/report/post/{theirs.pk}": {"words": WORDS, "reason": "spam"},
    }
    for path, form in forms.items():
        answer = send(browser_of(me), path.partition("#")[0], **form)
        assert answer.status_code == 429, path
        assert SHOWN in answer.content.decode(), path


def test_words_below_something_that_is_gone_are_shown(make_user: Make) -> None:
    me, author = make_user(), make_user()
    post = feeds_actions.publish(author, content="theirs")
    comment = interactions_actions.comment(author, post.pk, "gone soon")
    paths = {
        f"/posts/{post.pk}/comments": {},
        f"/posts/{post.pk}/repost": {},
        f"/report/post/{post.pk}": {"words": WORDS, "reason": "spam"},
    }
    interactions_actions.delete_comment(author, comment.pk)
    answer = send(browser_of(me), f"/posts/{post.pk}/comments", parent=str(comment.pk))
    assert 400 <= answer.status_code < 500
    assert SHOWN in answer.content.decode()
    relations_actions.block(author, me)
    for path, form in paths.items():
        answer = send(browser_of(me), path, **form)
        assert answer.status_code == 404, path
        assert SHOWN in answer.content.decode(), path
    accounts_actions.ban(me)
