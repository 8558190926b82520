"""Invitations: who may make them, what they open, and that no use is lost or taken twice."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, invites, queries
from accounts.models import AuditEntry, Invite, InvitedPerson, Role, SignUpRequest, User
from accounts.tests.browsers import browser_of, text_of
from accounts.tests.sign_in.mails import link_in
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    SignUpClosed,
    TwoFactorNeeded,
)
from socialsite.tasks import apply_retention
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
PASSWORD = "right.pass1"
NEW = {"username": "newcomer", "nickname": "Newcomer", "password": PASSWORD}
PAGE, ADMIN = "/settings/invites", "/admin/accounts/invite/"


@pytest.fixture
def staff(make_user: Make) -> User:
    return actions.promote(make_user("staff1", nickname="Gardener"), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def member(make_user: Make) -> User:
    return make_user("member1")


def by_invitation(**more: Any) -> None:
    actions.change_site({"sign_up": "invite", **more})


def ask(code: str = "", **more: Any) -> Any:
    """Sign up as an API client does."""
    return APIClient().post(f"{V1}auth/register", NEW | {"invite": code} | more, format="json")


def used(invite: Invite) -> int:
    return Invite.objects.get(pk=invite.pk).used


# --- by invitation ------------------------------------------------------------------------------
def test_who_is_invited_signs_up_and_is_known_by_it(staff: User) -> None:
    by_invitation()
    invite = actions.create_invite(staff, uses=2)
    for code in ("", "wrong", invite.code + "x", invite.code.swapcase(), "玫瑰", "x" * 200):
        assert_error(ask(code), 403, "SIGN_UP_CLOSED")
    assert not User.objects.filter(username_key="newcomer").exists()
    assert ask(invite.code).status_code == 201
    user = User.objects.get(username_key="newcomer")
    assert used(invite) == 1
    assert invites.inviters([user.pk, staff.pk]) == {user.pk: staff}
    (card,) = invites.came_by([invite], queries.cards)[invite.pk]
    assert card["username"] == "newcomer"
    assert ask(invite.code, username="second").status_code == 201
    assert_error(ask(invite.code, username="third"), 403, "SIGN_UP_CLOSED")
    assert used(invite) == 2


def test_a_refused_sign_up_takes_no_use(staff: User, member: User) -> None:
    by_invitation()
    invite = actions.create_invite(staff)
    taken = ask(invite.code, username=member.username)
    assert_error(taken, 409, "DUPLICATED_USER", "username")
    assert_error(ask(invite.code, password="x"), 400, "REG_MATCH_ERROR", "password")
    assert used(invite) == 0
    assert ask(invite.code).status_code == 201


def test_an_invitation_ends(staff: User, member: User) -> None:
    by_invitation()
    late, ended, kept = (actions.create_invite(staff) for _ in range(3))
    Invite.objects.filter(pk=late.pk).update(ends_at=timezone.now())
    actions.end_own_invite(staff, ended.pk)
    actions.end_own_invite(staff, ended.pk)
    with pytest.raises(NotFound):
        actions.end_own_invite(member, kept.pk)
    for invite in (late, ended):
        assert_error(ask(invite.code), 403, "SIGN_UP_CLOSED")
    assert ask(kept.code).status_code == 201


def test_it_is_valid_while_its_maker_may_invite(staff: User, member: User) -> None:
    by_invitation(members_invite=True)
    invite, of_staff = actions.create_invite(member), actions.create_invite(staff)
    actions.change_site({"members_invite": False})
    assert_error(ask(invite.code), 403, "SIGN_UP_CLOSED")
    actions.change_site({"members_invite": True})
    actions.ban(member)
    assert_error(ask(invite.code), 403, "SIGN_UP_CLOSED")
    actions.unban(member)
    actions.change_site({"sign_up": "closed"})
    assert_error(ask(of_staff.code), 403, "SIGN_UP_CLOSED")
    actions.change_site({"sign_up": "invite"})
    assert ask(invite.code).status_code == 201
    actions.change_site({"members_invite": False})
    actions.promote(staff, Role.MEMBER)
    assert_error(ask(of_staff.code, username="second"), 403, "SIGN_UP_CLOSED")


# --- in the other modes -------------------------------------------------------------------------
def test_on_an_open_site_it_says_who_invited_and_hinders_nobody(staff: User) -> None:
    invite = actions.create_invite(staff)
    assert ask(invite.code).status_code == 201
    assert used(invite) == 1
    assert ask(invite.code, username="second").status_code == 201
    assert used(invite) == InvitedPerson.objects.count() == 1


def test_who_is_invited_needs_no_decision_of_staff(staff: User) -> None:
    actions.change_site({"sign_up": "approval"})
    invite = actions.create_invite(staff)
    assert ask(invite.code).status_code == 201
    assert_error(ask(invite.code, username="second"), 400, "REG_MATCH_ERROR", "reason")
    assert ask("", username="second", reason="Roses.").status_code == 202


def test_an_address_is_confirmed_all_the_same(
    staff: User, deliver: Callable[[], list[Any]]
) -> None:
    actions.change_site({"sign_up": "approval", "email_needed": True})
    invite = actions.create_invite(staff)
    answer = ask(invite.code, email="a@example.org")
    assert (answer.status_code, answer.json()) == (202, {"state": "unconfirmed"})
    assert used(invite) == 1
    assert_error(ask(invite.code, username="second", reason="x"), 400, "REG_MATCH_ERROR", "email")
    assert actions.confirm_email(link_in(deliver()[0])) == actions.Confirmed.ACCOUNT
    user = User.objects.get(username_key="newcomer")
    assert invites.inviters([user.pk]) == {user.pk: staff}


def test_the_use_of_who_never_confirmed_is_given_back(staff: User) -> None:
    by_invitation(email_needed=True)
    invite = actions.create_invite(staff)
    assert ask(invite.code, email="a@example.org").status_code == 202
    assert_error(ask(invite.code, username="second"), 403, "SIGN_UP_CLOSED")
    SignUpRequest.objects.update(changed_at=timezone.now() - timedelta(days=4))
    apply_retention()
    assert used(invite) == 0
    assert ask(invite.code, username="second", email="b@example.org").status_code == 202


# --- who makes them -----------------------------------------------------------------------------
def test_staff_invite_and_members_if_the_site_says_so(staff: User, member: User) -> None:
    actions.create_invite(staff)
    with pytest.raises(Forbidden):
        actions.create_invite(member)
    actions.change_site({"members_invite": True})
    actions.create_invite(member)
    actions.change_site({"sign_up": "closed"})
    for user in (staff, member):
        with pytest.raises(Forbidden):
            actions.create_invite(user)


def test_staff_need_their_second_factor_to_invite(staff: User, settings: Any) -> None:
    settings.STAFF_TOTP = True
    with pytest.raises(TwoFactorNeeded):
        actions.create_invite(staff)
    actions.change_site({"members_invite": True})
    actions.create_invite(staff)


def test_numbers_have_limits(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"uses": 0}, {"uses": 101}, {"days": 0}, {"days": 91}):
        with pytest.raises(InvalidInput) as caught:
            actions.create_invite(staff, **wrong)
        assert list(caught.value.fields or ()) == list(wrong)
    monkeypatch.setattr(invites, "SHOWN", 2)
    first = actions.create_invite(staff)
    actions.create_invite(staff)
    with pytest.raises(QuotaExceeded):
        actions.create_invite(staff)
    actions.end_own_invite(staff, first.pk)
    actions.create_invite(staff)


def test_all_that_are_open_are_shown(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invites, "SHOWN", 2)
    lasting = actions.create_invite(staff, days=9)
    for _ in range(3):
        actions.end_own_invite(staff, actions.create_invite(staff).pk)
    assert lasting in invites.of_person(staff.pk).items


# --- at once ------------------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("more", [{}, {"email_needed": True}], ids=["accounts", "requests"])
def test_of_those_who_come_at_once_as_many_enter_as_are_invited(
    make_user: Make, more: dict[str, Any]
) -> None:
    by_invitation(**more)
    staff = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    invite = actions.create_invite(staff, uses=3)
    act: Callable[..., Any] = actions.request_account if more else actions.register
    told = {"invite": invite.code, "needs_invite": True}
    told |= {"email": "a@example.org"} if more else {}
    calls = [partial(act, f"person{one}", "Person", PASSWORD, **told) for one in range(8)]
    results = at_once(calls)
    assert sum(isinstance(result, SignUpClosed) for result in results) == 5
    assert used(invite) == 3
    came = SignUpRequest if more else InvitedPerson
    assert came.objects.filter(invite=invite).count() == 3


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_person_makes_no_more_than_the_limit_at_once(
    make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    monkeypatch.setattr(invites, "SHOWN", 3)
    results = at_once([partial(actions.create_invite, staff)] * 6)
    assert sum(isinstance(result, Invite) for result in results) == 3


# --- pages, API, admin --------------------------------------------------------------------------
def test_the_page_of_who_is_invited(staff: User) -> None:
    by_invitation()
    browser = Client()
    assert "you need a link from somebody" in text_of(browser.get("/register"))
    assert "no longer valid" in text_of(browser.get("/register?invite=wrong"))
    assert 'href="/register' not in text_of(browser.get("/login"))
    invite = actions.create_invite(staff)
    page = text_of(browser.get(f"/register?invite={invite.code}"))
    assert "Gardener invites you to socialsite." in page
    body = NEW | {"invite": invite.code}
    refused = text_of(browser.post("/register", body | {"password": "x"}), 400)
    assert f'name="invite" value="{invite.code}"' in refused
    assert "Gardener invites you" in refused
    assert browser.post("/register", body)["Location"] == "/welcome"
    assert "no longer valid" in text_of(Client().get(f"/register?invite={invite.code}"))
    assert Client().post("/register", body).status_code == 403
    actions.change_site({"sign_up": "open"})
    page = text_of(Client().get(f"/register?invite={invite.code}"))
    assert "You can sign up without it" in page
    assert 'name="password"' in page


def test_the_page_of_invitations(staff: User, member: User) -> None:
    assert PAGE not in text_of(browser_of(member).get("/settings/devices"))
    assert "cannot invite" in text_of(browser_of(member).get(PAGE))
    assert browser_of(member).post(PAGE, {"uses": "1", "days": "1"}).status_code == 403
    browser = browser_of(staff)
    assert PAGE in text_of(browser.get("/settings/devices"))
    assert browser.post(PAGE, {"uses": "2", "days": "3"}).status_code == 303
    invite = Invite.objects.get()
    assert (invite.uses, invite.maker) == (2, staff)
    assert invite.ends_at - invite.created_at == timedelta(days=3)
    for wrong in ({"uses": "x", "days": "3"}, {"uses": "2"}, {"uses": "1", "days": "91"}):
        assert "From 1 to" in text_of(browser.post(PAGE, wrong), 400)
    assert ask(invite.code).status_code == 201
    page = text_of(browser.get(PAGE))
    assert f"/register?invite={invite.code}" in page
    assert "1 of 2 uses taken" in page
    assert "/@newcomer" in page
    relations_actions.block(User.objects.get(username_key="newcomer"), staff)
    assert "newcomer" not in text_of(browser.get(PAGE))
    assert browser_of(member).post(f"{PAGE}/{invite.pk}/end").status_code == 404
    assert browser.post(f"{PAGE}/x/end").status_code == 404
    assert browser.post(f"{PAGE}/{invite.pk}/end").status_code == 303
    page = text_of(browser.get(PAGE))
    assert "No longer valid" in page
    assert invite.code not in page


def test_the_api_of_invitations(
    staff: User, member: User, api_for: Callable[..., APIClient]
) -> None:
    client = api_for(staff)
    made = client.post(f"{V1}invites", {"uses": 2, "days": 1}, format="json")
    assert made.status_code == 201
    body = made.json()
    assert body["url"].endswith(f"/register?invite={body['code']}")
    assert (body["uses"], body["used"], body["people"]) == (2, 0, [])
    assert ask(body["code"]).status_code == 201
    came = str(User.objects.get(username_key="newcomer").pk)
    (told,) = client.get(f"{V1}invites").json()["items"]
    assert (told["used"], told["people"]) == (1, [came])
    assert api_for(member).get(f"{V1}invites").json()["items"] == []
    assert_error(api_for(member).post(f"{V1}invites"), 403, "FORBIDDEN")
    assert_error(api_for(member).delete(f"{V1}invites/{body['id']}"), 404, "NOT_FOUND")
    wrong = client.post(f"{V1}invites", {"uses": 0}, format="json")
    assert_error(wrong, 400, "INVALID_INPUT", "uses")
    assert client.delete(f"{V1}invites/{body['id']}").status_code == 204
    assert [one["used"] for one in client.get(f"{V1}invites").json()["items"]] == [1]


def test_staff_see_who_invited_whom_and_end_invitations(staff: User, member: User) -> None:
    by_invitation(members_invite=True)
    invite = actions.create_invite(member, uses=5)
    ask(invite.code)
    user = User.objects.get(username_key="newcomer")
    browser = browser_of(staff)
    page = text_of(browser.get(f"{ADMIN}{invite.pk}/change/"))
    assert "@newcomer" in page
    assert invite.code not in page + text_of(browser.get(ADMIN))
    assert "@member1" in text_of(browser.get(f"/admin/accounts/user/{user.pk}/change/"))
    body = {"action": "end", "_selected_action": [invite.pk]}
    assert "Are you sure?" in text_of(browser.post(ADMIN, body))
    done = browser.post(ADMIN, body | {"confirmed": "yes"}, follow=True)
    assert "Done for 1." in text_of(done)
    assert_error(ask(invite.code, username="second"), 403, "SIGN_UP_CLOSED")
    noted = AuditEntry.objects.get(action="end_invite")
    assert (noted.actor_id, noted.subject_id) == (staff.pk, member.pk)
    with pytest.raises(Forbidden):
        actions.end_invite(invite.pk, member)
