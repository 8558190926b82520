"""The definition of polls: limits, drafts, edits, and what a page of polls costs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from accounts.models import User
from feeds import actions
from feeds.content.polls.definition import LONGEST, SHORTEST
from feeds.drafts import actions as drafts
from feeds.models import Draft, OpenPoll, Post, PostContent
from socialsite.core import db
from socialsite.core.errors import InvalidInput
from socialsite.core.times import iso
from socialsite.tests.support.answers import assert_error
from socialsite.tests.support.polls import given

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"


def in_ms(milliseconds: int) -> str:
    return iso(db.now_ms() + milliseconds)


# --- API ----------------------------------------------------------------------------------------
def test_a_post_has_the_poll_that_was_given(mine: APIClient, me: User) -> None:
    end = in_ms(3_600_000)
    poll = {"options": [" Tea\n today ", "Coffee"], "multiple": True, "ends_at": end}
    answer = mine.post(V1 + "posts", {"content": "Which?", "poll": poll}, format="json")
    assert answer.status_code == 201
    assert answer.json()["poll"] == {
        "options": [{"text": "Tea today", "votes": 0}, {"text": "Coffee", "votes": 0}],
        "votes": 0,
        "voted": [],
        "multiple": True,
        "ends_at": end,
        "closed": False,
    }
    assert mine.get(V1 + "feed").json()["items"][0] == answer.json()
    plain = mine.post(V1 + "posts", {"content": "none"}, format="json").json()
    assert plain["poll"] is None


def test_a_poll_needs_no_words_and_stands_with_every_kind(me: User, make_user: Make) -> None:
    assert actions.publish(me, poll=given()).content_row.poll
    article = actions.publish(me, kind="article", title="t", content="c", poll=given())
    assert article.content_row.poll
    post = actions.publish(me, poll=given())
    assert actions.edit(me, post.pk, 1, note="n").content_row.poll == post.content_row.poll
    quote, _new = actions.repost(make_user(), post.pk, "look")
    assert quote.content_row.poll is None


WRONG: list[dict[str, Any]] = [
    {"options": ["one"]},
    {"options": list("123456789")},
    {"options": ["a", "b" * 81]},
    {"options": ["a", "\u200b \u200b"]},
    {"options": ["a", ""]},
    {"options": ["Tea", "tea\u200b"]},
    {"options": ["Caf\u00e9", "CAFE\u0301"]},
    {"options": ["\u2764", "\u2764\ufe0f"]},
    {"options": ["\u65e5\u672c", "\u65e5\u672c\u3164"]},
    {"options": ["a", "b"], "lasts": None},
    {"options": ["a", "b"], "lasts": 299},
    {"options": ["a", "b"], "lasts": 30 * 86400 + 1},
    {"options": ["a", "b"], "lasts": 3600, "ends_at": "2030-01-01T00:00:00Z"},
    {"options": ["a", "b"], "lasts": None, "ends_at": "2020-01-01T00:00:00Z"},
    {"options": ["a", "b"], "lasts": None, "ends_at": "0001-01-01T00:00:00Z"},
    {"options": ["a", "b"], "lasts": None, "ends_at": "9999-12-31T23:59:59Z"},
    {"options": ["a", "b"], "lasts": None, "ends_at": "soon"},
    {"options": "ab"},
    {"options": ["a", {"text": "b"}]},
    {"options": ["a", "b"], "multiple": "perhaps"},
    {},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_poll_is_refused_at_its_field(mine: APIClient, wrong: dict[str, Any]) -> None:
    poll = {"lasts": 3600, **wrong}
    answer = mine.post(V1 + "posts", {"content": "x", "poll": poll}, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "poll")
    assert not Post.objects.exists()


@pytest.mark.parametrize("wrong", [[], "x", 7])
def test_a_poll_is_an_object(mine: APIClient, wrong: Any) -> None:
    answer = mine.post(V1 + "posts", {"content": "x", "poll": wrong}, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "poll")


def test_the_end_is_5_minutes_to_30_days_ahead(me: User, clock: Any) -> None:
    now = clock.now
    for end in (SHORTEST, LONGEST):
        actions.publish(me, poll=given(lasts=None, ends_at=now + end))
    for end in (SHORTEST - 1, LONGEST + 1):
        with pytest.raises(InvalidInput) as refused:
            actions.publish(me, poll=given(lasts=None, ends_at=now + end))
        assert set(refused.value.fields or ()) == {"poll"}


def test_hostile_options_are_texts_and_nothing_else(mine: APIClient) -> None:
    texts = ["<script>alert(1)</script>", "\u202eevil", "@someone1 #tag", "{{ 7 * 7 }}", "%(n)s"]
    body = {"content": "x", "poll": {"options": [*texts, "a\x00b"], "lasts": 3600}}
    assert_error(mine.post(V1 + "posts", body, format="json"), 400, "INVALID_INPUT", "poll")
    body["poll"] = {"options": texts, "lasts": 3600}
    found = mine.post(V1 + "posts", body, format="json").json()
    assert [option["text"] for option in found["poll"]["options"]] == texts
    assert found["tags"] == []


def test_an_edit_keeps_the_poll_and_cannot_change_it(mine: APIClient, me: User) -> None:
    post = actions.publish(me, content="Which?", poll=given())
    address = f"{V1}posts/{post.pk}"
    for poll in (None, {"options": ["x", "y"], "lasts": 3600}):
        answer = mine.patch(address, {"version": 1, "content": "x", "poll": poll}, format="json")
        assert_error(answer, 400, "INVALID_INPUT", "poll")
    edited = mine.patch(address, {"version": 1, "content": ""}, format="json")
    assert edited.status_code == 200
    assert [option["text"] for option in edited.json()["poll"]["options"]] == ["Tea", "Coffee"]
    versions = mine.get(f"{address}/history").json()["items"]
    assert all("poll" not in version for version in versions)


# --- drafts -------------------------------------------------------------------------------------
def test_a_draft_keeps_its_poll_until_it_is_a_post_and_back(mine: APIClient, me: User) -> None:
    poll = {"options": ["Tea", "Coffee"], "multiple": True, "ends_at": None, "lasts": 7200}
    draft = mine.post(V1 + "drafts", {"content": "x", "poll": poll}, format="json").json()
    assert draft["poll"] == poll
    # What was answered can be sent again.
    path = f"{V1}drafts/{draft['id']}"
    assert mine.put(path, draft, format="json").json()["poll"] == poll
    published = mine.post(f"{path}/publish").json()
    begun = datetime.fromisoformat(published["created_at"])
    end = datetime.fromisoformat(published["poll"]["ends_at"])
    assert timedelta(0) <= begun + timedelta(hours=2) - end < timedelta(minutes=1)
    again = drafts.rewrite(me, int(published["id"]))
    assert again.poll["options"] == ["Tea", "Coffee"]
    assert 7140 <= again.poll["lasts"] <= 7200
    assert not OpenPoll.objects.exists()


def test_a_draft_may_have_half_a_poll_but_no_wrong_one(mine: APIClient) -> None:
    half = {"options": ["Tea"], "multiple": False}
    draft = mine.post(V1 + "drafts", {"poll": half}, format="json").json()
    assert draft["poll"] == {**half, "ends_at": None, "lasts": None}
    assert_error(mine.post(f"{V1}drafts/{draft['id']}/publish"), 400, "INVALID_INPUT", "poll")
    assert Draft.objects.exists()
    for wrong in ({"options": ["a", "A"]}, {"options": ["a"], "ends_at": "2020-01-01T00:00:00Z"}):
        answer = mine.post(V1 + "drafts", {"poll": wrong}, format="json")
        assert_error(answer, 400, "INVALID_INPUT", "poll")


def test_the_end_of_a_scheduled_poll_is_counted_from_its_publication(mine: APIClient) -> None:
    publish_at = datetime.now(UTC) + timedelta(days=2)
    poll = {"options": ["a", "b"], "ends_at": (publish_at + timedelta(days=29)).isoformat()}
    body = {"content": "x", "publish_at": publish_at.isoformat(), "poll": poll}
    assert mine.post(V1 + "drafts", body, format="json").status_code == 201
    poll["ends_at"] = (publish_at - timedelta(hours=1)).isoformat()
    assert_error(mine.post(V1 + "drafts", body, format="json"), 400, "INVALID_INPUT", "poll")


def test_a_refused_post_leaves_nothing(me: User) -> None:
    with pytest.raises(InvalidInput) as refused:
        actions.publish(me, kind="article", poll=given("one"))
    assert set(refused.value.fields or ()) == {"poll", "title", "content"}
    assert not PostContent.objects.exists()
    assert connection.in_atomic_block
