"""Polls on pages: the form, the results, and the composer, without JavaScript and by htmx."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import browser_of, text_of
from feeds import actions as feeds_actions
from feeds.models import Draft, Post, PostContent
from interactions import actions
from interactions.models import Vote
from interactions.tests.polls.counts_and_ends import close
from relations import actions as relations_actions
from socialsite.tests.support.polls import given

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def post(author: User) -> Post:
    return feeds_actions.publish(author, content="Which?", poll=given("Tea", "Coffee"))


def test_a_form_votes_and_leads_back(reader: User, post: Post) -> None:
    browser = browser_of(reader)
    page = " ".join(text_of(browser.get(f"/posts/{post.pk}")).split())
    assert page.count(f'type="radio" name="poll-{post.pk}"') == 2
    assert "%</span>" not in page
    assert "ends in " in page
    sent = {f"poll-{post.pk}": "1", "poll-7": "0", "next": "/recommended"}
    answer = browser.post(f"/posts/{post.pk}/vote", sent)
    assert (answer.status_code, answer["Location"]) == (303, f"/recommended#poll-{post.pk}")
    page = text_of(browser.get(f"/posts/{post.pk}"))
    assert 'type="radio"' not in page.split('id="poll-')[1].split("poll-foot")[0]
    assert "100%" in page
    assert "your choice" in page
    assert "1 person voted" in page
    assert text_of(browser_of(post.author).get(f"/posts/{post.pk}")).count("<progress") == 2


def test_htmx_gets_the_poll_alone(reader: User, post: Post) -> None:
    answer = browser_of(reader).post(
        f"/posts/{post.pk}/vote", {f"poll-{post.pk}": "0"}, headers=HTMX
    )
    page = text_of(answer)
    assert page.lstrip().startswith('<div class="poll"')
    assert "100%" in page


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_refused_vote_says_why_and_shows_the_poll(
    reader: User, post: Post, headers: dict[str, str]
) -> None:
    browser = browser_of(reader)
    path, name = f"/posts/{post.pk}/vote", f"poll-{post.pk}"
    for sent in ({}, {name: "x"}, {name: "7"}, {name: ["0", "1"]}):
        page = text_of(browser.post(path, sent, headers=headers), 422)
        assert 'role="alert"' in page
        assert 'type="radio"' in page
        assert ("<html" in page) is (not headers)
    actions.vote(reader, post.pk, [0])
    page = text_of(browser.post(path, {name: "1"}, headers=headers), 422)
    assert "You have voted in this poll already." in page
    assert "100%" in page
    close(post)
    late = browser_of(post.author).post(path, {name: "1"}, headers=headers)
    assert "This poll is closed." in text_of(late, 422)
    assert Vote.objects.count() == 1


def test_guests_are_led_to_the_log_in_and_see_results_at_the_end(reader: User, post: Post) -> None:
    actions.vote(reader, post.pk, [0])
    page = text_of(Client().get(f"/posts/{post.pk}"))
    assert "Log in to vote" in page
    assert "<progress" not in page
    close(post)
    page = text_of(Client().get(f"/posts/{post.pk}"))
    assert "Log in to vote" not in page
    assert page.count("<progress") == 2
    assert "Poll closed" in page


def test_hostile_options_are_escaped_everywhere(reader: User, author: User) -> None:
    evil = "<script>alert(1)</script>"
    quoted = '"><img src=x onerror=alert(1)>'
    post = feeds_actions.publish(author, content="x", poll=given(evil, quoted))
    feeds_actions.repost(author, post.pk, "look")
    Draft.objects.all().delete()
    relations_actions.follow(reader, author)
    browser = browser_of(reader)
    paths = ("/", f"/posts/{post.pk}", f"/@{author.username}", f"/posts/{post.pk}/embed")
    for path in (*paths, f"/@{author.username}/feed.atom"):
        page = text_of((Client() if "embed" in path else browser).get(path))
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path
        assert "script&" in page, path


def test_a_note_folds_the_poll_and_its_quote_hides_it(author: User, reader: User) -> None:
    post = feeds_actions.publish(author, content="x", note="about tea", poll=given("Oolong", "b"))
    feeds_actions.repost(reader, post.pk, "look")
    page = text_of(Client().get(f"/posts/{post.pk}"))
    folded = page.split('class="folded"')[1].split("</details>")[0]
    assert "Oolong" in folded
    assert "Oolong" not in text_of(Client().get(f"/@{reader.username}"))
    assert "Oolong" not in text_of(Client().get(f"/@{author.username}/feed.atom"))


# --- the composer -------------------------------------------------------------------------------
def form(*options: str, **more: str) -> dict[str, str]:
    sent = {f"option-{number}": option for number, option in enumerate(options)}
    return {"kind": "micro", "content": "Which?", "poll_end": "3600", **sent, **more}


def test_the_composer_publishes_a_poll_without_its_empty_options(me: User, browser: Client) -> None:
    page = text_of(browser.get("/"))
    assert page.count('name="option-') == 8
    assert browser.post("/posts", form("Tea", "", " ", "Coffee", multiple="1")).status_code == 303
    words = PostContent.objects.get()
    assert (words.poll["options"], words.poll["multiple"]) == (["Tea", "Coffee"], True)
    assert -60_000 < words.poll["ends_at"] - words.post.position - 3_600_000 <= 0
    browser.post("/posts", form("", ""))
    assert PostContent.objects.filter(poll__isnull=True).count() == 1


@pytest.mark.parametrize("end", ["", "7", "x", "99999999999", "2020-01-01T00:00:00.000Z"])
def test_a_refused_poll_is_shown_again_with_what_was_typed(
    me: User, browser: Client, end: str
) -> None:
    page = text_of(browser.post("/posts", form("Tea", "Coffee", poll_end=end)), 400)
    assert 'id="err-poll"' in page
    assert 'value="Coffee"' in page
    assert 'poll-form" open' in page
    assert not PostContent.objects.exists()


def test_a_draft_carries_the_poll_through_its_form(me: User, browser: Client) -> None:
    assert browser.post("/drafts", form("Tea")).status_code == 303
    draft = Draft.objects.get()
    assert draft.poll == {"options": ["Tea"], "multiple": False, "ends_at": None, "lasts": 3600}
    assert "Tea" in text_of(browser.get("/drafts"))
    page = text_of(browser.get(f"/drafts/{draft.pk}"))
    assert 'value="Tea"' in page
    assert '<option value="3600" selected>' in page
    sent = form("Tea", "Coffee", act="publish")
    assert browser.post(f"/drafts/{draft.pk}", sent).status_code == 303
    assert PostContent.objects.get().poll["options"] == ["Tea", "Coffee"]


def test_the_time_of_a_draft_of_the_api_stays_in_its_form(me: User, browser: Client) -> None:
    browser.post("/drafts", form("Tea", "Coffee"))
    draft = Draft.objects.get()
    end = draft.updated_at + 7_200_000
    Draft.objects.update(poll={**draft.poll, "lasts": None, "ends_at": end})
    page = text_of(browser.get(f"/drafts/{draft.pk}"))
    value = page.split(" UTC</option>")[0].rsplit('value="', 1)[1].split('"')[0]
    browser.post(f"/drafts/{draft.pk}", form("Tea", "Coffee", poll_end=value))
    assert Draft.objects.get().poll["ends_at"] == end
