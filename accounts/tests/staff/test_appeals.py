"""Appeals: written once by the person, also by one who cannot log in, and decided by another."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import Appeal, AuditEntry, Role, StaffAct, User
from accounts.tests.browsers import browser_of, text_of
from accounts.tests.sign_in.authenticator import App
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    AlreadyAppealed,
    Forbidden,
    InvalidInput,
    NotFound,
    TwoFactorNeeded,
)
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
PASSWORD = "right.pass1"
SPAM = actions.Grounds("spam", "Please do not advertise.")
QUEUE = "/admin/accounts/appeal/"


@pytest.fixture
def staff(make_user: Make) -> User:
    return actions.promote(make_user("staff1"), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def other(make_user: Make) -> User:
    return actions.promote(make_user("staff2"), Role.MEMBER | Role.MODERATOR)


def warned(user: User, actor: User | None) -> StaffAct:
    return actions.warn(user, actor, "", SPAM)


def turn_on(user: User) -> list[str]:
    """Turn the second factor on; return the recovery codes, which no clock changes."""
    actions.sign_in(user, "linux")
    app = App(actions.begin_two_factor(user, PASSWORD).secret)
    return actions.confirm_two_factor(user, app.code(), "linux")


def ticket_in(page: str) -> str:
    return page.partition('name="ticket" value="')[2].partition('"')[0]


def outside(path: str, **more: Any) -> Any:
    body = {"username": "alice1", "password": PASSWORD} | more
    return APIClient().post(f"{V1}auth/{path}", body, format="json")


# --- written once -------------------------------------------------------------------------------
def test_a_person_objects_once(alice: User, staff: User, api_for: Make) -> None:
    act = warned(alice, staff)
    mine, path = api_for(alice), f"{V1}users/me/acts/{act.pk}/appeal"
    for text in ("", " \n", "x" * 1001):
        assert_error(mine.post(path, {"text": text}, format="json"), 400, "INVALID_INPUT", "text")
    answer = mine.post(path, {"text": "It was no advertisement."}, format="json")
    assert answer.status_code == 201
    body = answer.json()
    assert (body["appeal"]["text"], body["appeal"]["state"]) == ("It was no advertisement.", "open")
    assert body["may_appeal"] is False
    assert_error(mine.post(path, {"text": "Again"}, format="json"), 409, "ALREADY_APPEALED")
    assert Appeal.objects.count() == 1


def test_nobody_objects_for_somebody_else_or_to_what_is_undone(
    alice: User, staff: User, make_user: Make
) -> None:
    act = warned(alice, staff)
    for user in (make_user(), staff):
        with pytest.raises(NotFound):
            actions.appeal(user, act.pk, "I object")
    actions.undo(act.pk, staff)
    with pytest.raises(AlreadyAppealed):
        actions.appeal(alice, act.pk, "I object")
    assert not Appeal.objects.exists()


def test_the_page_keeps_what_was_typed(alice: User, staff: User) -> None:
    old, _new = warned(alice, staff), warned(alice, staff)
    browser = browser_of(alice)
    address = f"/settings/acts/{old.pk}/appeal"
    answer = browser.post(address, {"act": old.pk, "text": "x" * 1001})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "x" * 1001 in page
    assert page.count('class="appeal" open') == 1
    answer = browser.post(address, {"act": old.pk, "text": "No <b>advertisement</b>"})
    assert (answer.status_code, answer["Location"]) == (303, "/settings/acts")
    page = browser.get("/settings/acts").content.decode()
    assert "No &lt;b&gt;advertisement&lt;/b&gt;" in page
    assert Client().get("/settings/acts").status_code == 302
    assert browser.post("/settings/acts/x/appeal", {"text": "y"}).status_code == 404


# --- people who cannot log in -------------------------------------------------------------------
@pytest.mark.parametrize("act", [actions.ban, actions.suspend])
def test_who_cannot_log_in_reads_why_and_objects(act: Any, alice: User, staff: User) -> None:
    act(alice, staff, "", SPAM)
    row = StaffAct.objects.get()
    assert_error(outside("acts", password="wrong.pass1"), 401, "PASSWORD_NOT_CORRECTED")
    assert_error(
        outside("appeal", password="wrong.pass1", act=str(row.pk), text="No"),
        401,
        "PASSWORD_NOT_CORRECTED",
    )
    (found,) = outside("acts").json()["items"]
    assert (found["id"], found["words"]) == (str(row.pk), SPAM.words)
    answer = outside("appeal", act=found["id"], text="It was no advertisement.")
    assert answer.status_code == 201
    assert_error(outside("appeal", act=found["id"], text="Again"), 409, "ALREADY_APPEALED")
    assert_error(outside("appeal", act="12345", text="No"), 404, "NOT_FOUND")


def test_the_log_in_page_shows_why_and_takes_the_objection(
    alice: User, staff: User, client: Client
) -> None:
    actions.ban(alice, staff, "", SPAM)
    act = StaffAct.objects.get()
    form = {"username": "alice1", "password": PASSWORD}
    answer = client.post("/login", form)
    assert answer.status_code == 403
    page = answer.content.decode()
    assert SPAM.words in page
    assert "access" not in answer.cookies
    ticket = ticket_in(page)
    sent = {"ticket": ticket, "act": act.pk, "text": ""}
    assert client.post("/login/appeal", sent).status_code == 400
    answer = client.post("/login/appeal", sent | {"text": "It was no advertisement."})
    assert (answer.status_code, answer["Location"]) == (303, "/login/appeal/sent")
    assert "Objection sent" in text_of(client.get(answer["Location"]))
    assert Appeal.objects.get().text == "It was no advertisement."
    for wrong in ("", "x", ticket[:-2]):
        assert client.post("/login/appeal", sent | {"ticket": wrong}).status_code == 401
    User.objects.filter(pk=alice.pk).update(password="another")
    assert client.post("/login/appeal", sent).status_code == 401
    wrong_password = client.post("/login", form | {"password": "wrong.pass1"})
    assert SPAM.words not in wrong_password.content.decode()


def test_the_second_factor_is_needed_to_object(alice: User, staff: User, client: Client) -> None:
    codes = turn_on(alice)
    actions.ban(alice, staff, "", SPAM)
    act = str(StaffAct.objects.get().pk)
    assert_error(outside("acts"), 401, "OTP_REQUIRED")
    assert_error(outside("appeal", act=act, text="No"), 401, "OTP_REQUIRED")
    assert_error(
        outside("appeal", act=act, text="No", otp="000000"), 401, "OTP_NOT_CORRECTED", "otp"
    )
    page = client.post("/login", {"username": "alice1", "password": PASSWORD}).content.decode()
    assert 'name="otp"' in page
    assert SPAM.words not in page
    sent = {"ticket": ticket_in(page), "act": act, "text": "No"}
    for wrong in ({}, {"otp": "000000"}):
        answer = client.post("/login/appeal", sent | wrong)
        assert answer.status_code == 401
        assert SPAM.words not in answer.content.decode()
    assert not Appeal.objects.exists()
    page = client.post("/login/appeal", sent | {"otp": codes[0]}).content.decode()
    assert SPAM.words in page
    assert not Appeal.objects.exists()
    assert client.post("/login/appeal", sent | {"ticket": ticket_in(page)}).status_code == 303
    assert Appeal.objects.exists()


def test_the_ticket_of_an_appeal_is_not_renewed_and_logs_nobody_in(
    alice: User, staff: User, client: Client
) -> None:
    actions.suspend(alice, staff, "", SPAM)
    form = {"username": "alice1", "password": PASSWORD}
    ticket = ticket_in(client.post("/login", form).content.decode())
    act = StaffAct.objects.get()
    again = client.post("/login/appeal", {"ticket": ticket, "act": act.pk})
    assert again.status_code == 400
    assert ticket_in(again.content.decode()) == ticket
    actions.unsuspend(alice, staff)
    answer = client.post("/login/code", {"ticket": ticket, "otp": "123456"})
    assert answer.status_code == 401
    assert "access" not in answer.cookies


def test_a_new_suspension_takes_over_the_open_appeal(alice: User, staff: User, other: User) -> None:
    actions.suspend(alice, staff, "", SPAM, days=3)
    old = StaffAct.objects.get()
    actions.appeal(alice, old.pk, "I object")
    actions.suspend(alice, staff, "", SPAM, days=30)
    new = StaffAct.objects.latest("pk")
    (appeal,) = Appeal.objects.all()
    assert (appeal.act_id, appeal.state) == (new.pk, "open")
    actions.grant_appeal(new.pk, "", other)
    alice.refresh_from_db()
    assert not alice.is_suspended


# --- decided by another -------------------------------------------------------------------------
def test_a_granted_appeal_undoes_the_act(
    alice: User, staff: User, other: User, api_for: Make, deliver: Make
) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    alice.refresh_from_db()
    actions.limit(alice, staff, "", SPAM)
    act = StaffAct.objects.get()
    actions.appeal(alice, act.pk, "I object")
    deliver()
    with pytest.raises(Forbidden):
        actions.grant_appeal(act.pk, "", staff)
    actions.grant_appeal(act.pk, "You are right.", other, "203.0.113.9")
    alice.refresh_from_db()
    assert alice.limited_at is None
    (item,) = api_for(alice).get(f"{V1}users/me/acts").json()["items"]
    assert (item["appeal"]["state"], item["appeal"]["answer"]) == ("granted", "You are right.")
    assert item["undone_at"] is not None
    assert "staff2" not in str(item)
    (mail,) = deliver()
    assert "/settings/acts" in mail.body
    for decide in (actions.grant_appeal, actions.refuse_appeal):
        with pytest.raises(NotFound):
            decide(act.pk, "", other)


def test_a_refused_appeal_leaves_the_act(
    alice: User, staff: User, other: User, api_for: Make
) -> None:
    actions.limit(alice, staff, "", SPAM)
    act = StaffAct.objects.get()
    actions.appeal(alice, act.pk, "I object")
    with pytest.raises(Forbidden):
        actions.refuse_appeal(act.pk, "", staff)
    actions.refuse_appeal(act.pk, "We read it again.", other)
    alice.refresh_from_db()
    assert alice.limited_at is not None
    (item,) = api_for(alice).get(f"{V1}users/me/acts").json()["items"]
    assert (item["appeal"]["state"], item["may_appeal"]) == ("refused", False)
    with pytest.raises(NotFound):
        actions.grant_appeal(act.pk, "", other)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.action, entry.actor, entry.subject_id) == ("refuse_appeal", other, alice.pk)
    assert "We read" not in str(entry.detail)


def test_deciding_needs_the_right(
    alice: User, staff: User, other: User, make_user: Make, settings: Any
) -> None:
    act = warned(alice, staff)
    actions.appeal(alice, act.pk, "I object")
    for actor in (alice, make_user()):
        for decide in (actions.grant_appeal, actions.refuse_appeal):
            with pytest.raises(Forbidden):
                decide(act.pk, "", actor)
    settings.STAFF_TOTP = True
    for decide in (actions.grant_appeal, actions.refuse_appeal):
        with pytest.raises(TwoFactorNeeded):
            decide(act.pk, "", other)
    assert Appeal.objects.get().state == "open"


def test_whoever_acted_may_take_it_back_and_that_grants_the_appeal(
    alice: User, staff: User
) -> None:
    act = warned(alice, staff)
    actions.appeal(alice, act.pk, "I object")
    actions.undo(act.pk, staff)
    appeal = Appeal.objects.get()
    assert (appeal.state, appeal.decided_by) == ("granted", staff)


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_two_decisions_at_once_are_one(make_user: Make) -> None:
    staff, *others = [actions.promote(make_user(), Role.MEMBER | Role.MODERATOR) for _ in range(3)]
    for _ in range(6):
        user = make_user()
        act = warned(user, staff)
        actions.appeal(user, act.pk, "I object")

        works = [
            partial(decide, act.pk, "", actor)
            for decide, actor in zip(
                (actions.grant_appeal, actions.refuse_appeal), others, strict=True
            )
        ]
        results = at_once(works)
        assert all(result is None or isinstance(result, NotFound) for result in results), results
        found = Appeal.objects.select_related("act").get(pk=act.pk)
        assert found.state in ("granted", "refused")
        assert (found.state == "granted") == (found.act.undone_at is not None)


def test_the_queue_of_appeals(alice: User, staff: User, other: User) -> None:
    act = warned(alice, staff)
    actions.appeal(alice, act.pk, "It was <i>no</i> advertisement.")
    page = browser_of(other).get(QUEUE).content.decode()
    assert "It was &lt;i&gt;no&lt;/i&gt; advertisement." in page
    form = {"_selected_action": [act.pk], "back": act.pk, "text": "No."}
    detail = browser_of(other).get(f"{QUEUE}{act.pk}/change/").content.decode()
    for word in (SPAM.words, "staff1", "Spam or advertising", 'value="grant"'):
        assert word in detail
    asked = browser_of(other).post(QUEUE, form | {"action": "refuse"}).content.decode()
    assert 'name="text"' in asked
    done = {"action": "refuse", "confirmed": "yes"}
    own = browser_of(staff).post(QUEUE, form | done, follow=True).content.decode()
    assert "You may not do this to 1." in own
    browser_of(other).post(QUEUE, form | done)
    appeal = Appeal.objects.get()
    assert (appeal.state, appeal.answer, appeal.decided_by) == ("refused", "No.", other)
    assert appeal.decided_at is not None
    assert appeal.decided_at <= timezone.now()
    assert "alice1" not in browser_of(other).get(QUEUE).content.decode().split("changelist")[-1]
    assert "alice1" in browser_of(other).get(f"{QUEUE}?state=decided").content.decode()


def test_a_text_must_be_said(alice: User, staff: User) -> None:
    act = warned(alice, staff)
    with pytest.raises(InvalidInput):
        actions.appeal(alice, act.pk, "\u200b \n")
