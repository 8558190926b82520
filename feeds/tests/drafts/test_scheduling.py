"""The composer with a time: the post waits among the drafts, and is published then."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds.models import Draft, Post
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate

pytestmark = pytest.mark.django_db


def form_of(**fields: str) -> dict[str, str]:
    """Return the form of a post that is published tomorrow; the button is that which publishes."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    time = tomorrow.strftime("%Y-%m-%dT%H:%M")
    return {"content": "an early bird", "act": "publish", "publish_at": time, **fields}


def test_a_post_with_a_time_waits_among_the_drafts(browser: Client, me: User) -> None:
    form = form_of(utc_offset="-330")
    answer = browser.post("/posts", form)
    assert (answer.status_code, answer["Location"]) == (303, "/drafts")
    draft = Draft.objects.get()
    assert (draft.author_id, draft.content) == (me.pk, "an early bird")
    in_utc = datetime.fromisoformat(form["publish_at"] + "Z") - timedelta(minutes=330)
    assert draft.publish_at == in_utc.timestamp() * 1000
    assert not Post.objects.exists()
    assert "Scheduled" in text_of(browser.get("/drafts"))


def test_a_form_with_a_time_that_arrives_twice_makes_one_draft(browser: Client, me: User) -> None:
    form = form_of(once="abc")
    first, second = (browser.post("/posts", form) for _ in range(2))
    assert (first.status_code, second.status_code) == (303, 303)
    assert Draft.objects.count() == 1
    assert not Post.objects.exists()


@pytest.mark.parametrize(
    ("time", "words"),
    [("2020-01-01T10:00", "This time is in the past"), ("soon", "This is not a time")],
)
def test_a_wrong_time_publishes_nothing_and_loses_nothing(
    browser: Client, time: str, words: str
) -> None:
    page = text_of(browser.post("/posts", form_of(publish_at=time)), 400)
    assert words in page
    assert "an early bird</textarea>" in page
    assert f'value="{time}"' in page
    assert 'composer-time" open' in page
    assert not Post.objects.exists()
    assert not Draft.objects.exists()


def test_a_time_of_spaces_is_no_time(browser: Client) -> None:
    assert browser.post("/posts", form_of(publish_at="  ")).status_code == 303
    assert Post.objects.count() == 1
    assert not Draft.objects.exists()


def test_a_scheduled_post_takes_once_from_the_budget_of_posts(
    browser: Client, settings: Any
) -> None:
    settings.BUDGETS = {**settings.BUDGETS, budgets.PUBLISH.name: Rate(2, 1)}
    assert [browser.post("/posts", form_of()).status_code for _ in range(3)] == [303, 303, 429]
    assert Draft.objects.count() == 2


def test_a_preview_keeps_the_time(browser: Client) -> None:
    form = form_of(kind="article", title="T")
    page = text_of(browser.post("/preview", form))
    assert f'value="{form["publish_at"]}"' in page
    assert 'composer-time" open' in page
