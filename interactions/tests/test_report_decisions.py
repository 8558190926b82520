"""Decisions about cases: acts with grounds, and what reporters learn."""

from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts.models import AuditEntry, Role, StaffAct, User
from accounts.tests.browsers import browser_of
from feeds import actions as feeds_actions
from interactions import actions
from interactions.models import Case, ReportedKind
from interactions.tests.test_reports import QUEUE, V1, case, open_counts, send
from socialsite.core import errors

pytestmark = pytest.mark.django_db

POST, COMMENT, USER = ReportedKind


@pytest.fixture
def author(make_user):
    return make_user("author1")


@pytest.fixture
def me(make_user):
    return make_user("reporter1", nickname="Whistle")


@pytest.fixture
def staff(make_user) -> User:
    return accounts_actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def things(author, make_post) -> dict[str, int]:
    """Reportable objects of the author, by type."""
    post = make_post(author, content="for sale")
    return {
        "post": post.pk,
        "comment": actions.comment(author, post.pk, "buy it").pk,
        "user": author.pk,
    }


# --- acts on the person -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (actions.warn_reported, "warned"),
        (actions.limit_reported, "limited"),
        (actions.suspend_reported, "suspended"),
        (actions.ban_reported, "banned"),
        (actions.delete_reported, "deleted"),
    ],
)
def test_an_act_with_grounds_closes_the_case(act, outcome, mine, staff, author, things) -> None:
    send(mine, "post", things["post"])
    found = case(POST, things["post"])
    assert act(staff, found.pk, "203.0.113.9", accounts_actions.Grounds("", "Be kind."))
    found.refresh_from_db()
    assert (found.open_count, found.outcome, found.closed_by) == (0, outcome, staff)
    row = StaffAct.objects.get()
    assert (row.user, row.words, row.actor) == (author, "Be kind.", staff)
    assert row.reason == ("spam" if outcome == "deleted" else "")
    assert AuditEntry.objects.filter(actor=staff).count() == 1


def test_staff_choose_grounds_in_the_queue(mine, staff, author, things) -> None:
    send(mine, "post", things["post"])
    browser, found = browser_of(staff), case(POST, things["post"])
    page = browser.get(f"{QUEUE}{found.pk}/change/").content.decode()
    for name in ("warn", "limit", "suspend", "ban", "delete_reported"):
        assert f'value="{name}"' in page
        asked = browser.post(QUEUE, {"action": name, "_selected_action": [found.pk]})
        assert 'name="words"' in asked.content.decode()
    form = {"action": "suspend", "_selected_action": [found.pk], "confirmed": "yes", "days": "3"}
    browser.post(QUEUE, form | {"words": "Cool down", "reason": "abuse"})
    row = StaffAct.objects.get()
    assert (row.kind, row.words, row.reason) == ("suspend", "Cool down", "abuse")
    author.refresh_from_db()
    assert author.is_suspended


def test_an_act_that_is_refused_leaves_the_case_open(mine, staff, make_user, make_post) -> None:
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    post = make_post(admin).pk
    send(mine, "post", post)
    found = case(POST, post)
    for act in (actions.warn_reported, actions.limit_reported, actions.suspend_reported):
        with pytest.raises(errors.Forbidden):
            act(staff, found.pk)
    assert open_counts() == [(1, 1)]


# --- what reporters learn -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("how", "answer"),
    [("dismiss", "dismissed"), ("delete", "acted"), ("warn", "acted"), ("author", "gone")],
)
def test_reporters_learn_the_outcome_and_nothing_else(
    how, answer, mine, me, staff, author, things, drain, api_for, make_user
) -> None:
    other = api_for(make_user())
    for api in (mine, other):
        send(api, "post", things["post"])
    found = case(POST, things["post"])
    ends: dict[str, Any] = {
        "dismiss": lambda: actions.dismiss_reports(staff, found.pk),
        "delete": lambda: actions.delete_reported(staff, found.pk),
        "warn": lambda: actions.warn_reported(staff, found.pk),
        "author": lambda: feeds_actions.delete(author, things["post"]),
    }
    ends[how]()
    drain()
    for api in (mine, other):
        (item,) = api.get(f"{V1}notifications").json()["items"]
        assert (item["kind"], item["reason"], item["actors"]) == ("report", answer, [])
        assert item["subject"] == {"type": "post", "id": str(things["post"]), "preview": ""}
    page = browser_of(me).get("/notifications").content.decode()
    assert "Your report of a post is closed" in page
    assert "for sale" not in page


def test_a_second_report_gets_an_answer_of_its_own(mine, staff, things, drain) -> None:
    found = None
    for outcome in ("dismissed", "acted", "dismissed"):
        send(mine, "user", things["user"])
        found = case(USER, things["user"])
        if outcome == "acted":
            actions.warn_reported(staff, found.pk)
        else:
            actions.dismiss_reports(staff, found.pk)
        drain()
        (item,) = mine.get(f"{V1}notifications").json()["items"]
        assert (item["kind"], item["reason"], item["read"]) == ("report", outcome, False)
        mine.post(f"{V1}notifications/read", {"until": item["created_at"]}, format="json")


def test_one_decision_about_several_cases_of_a_person_is_one_act(
    mine, staff, author, things
) -> None:
    for kind, ident in things.items():
        send(mine, kind, ident)
    ids = [one.pk for one in Case.objects.all()]
    form = {"_selected_action": ids, "confirmed": "yes", "words": "Be kind.", "days": "3"}
    browser_of(staff).post(QUEUE, form | {"action": "suspend"})
    assert StaffAct.objects.count() == 1
    assert {one.outcome for one in Case.objects.all()} == {"suspended"}
    answer = browser_of(staff).post(QUEUE + "?state=all", form | {"action": "warn"}, follow=True)
    assert "too late" in answer.content.decode()
    assert StaffAct.objects.count() == 1
