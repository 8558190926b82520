"""The pages that close an account and take it back; the mails about it; what staff see."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions
from accounts.models import Closing, Role, User
from accounts.tests.browsers import browser_of, text_of
from accounts.tests.closing.test_closing import PASSWORD, end_grace, turn_on
from accounts.tests.sign_in.mails import link_in
from socialsite.tests.support.answers import V1

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
FORM = {"username": "alice1", "password": PASSWORD}


def ticket_in(page: str) -> str:
    return page.partition('name="ticket" value="')[2].partition('"')[0]


def addressed(user: User) -> User:
    User.objects.filter(pk=user.pk).update(email="a@example.org", email_key="a@example.org")
    return user


# --- closing ------------------------------------------------------------------------------------
def test_the_page_explains_closes_and_says_until_when(browser: Client) -> None:
    assert 'href="/settings/close"' in text_of(browser.get("/settings/password"))
    page = text_of(browser.get("/settings/close"))
    assert "After 14 days everything is erased" in page
    assert 'name="otp"' not in page
    answer = browser.post("/settings/close", {"password": PASSWORD})
    assert answer.status_code == 303
    assert answer.cookies["access"].value == answer.cookies["refresh"].value == ""
    page = text_of(browser.get(answer["Location"]))
    assert f"{Closing.objects.get().erase_at:%Y-%m-%d %H:%M} UTC" in page
    assert browser.get("/settings/close").status_code == 302
    assert browser.get("/login/closed?until=x").status_code == 303


def test_the_page_of_a_site_without_a_grace_offers_no_way_back(
    browser: Client, settings: Any
) -> None:
    settings.CLOSE_GRACE_DAYS = 0
    assert "Everything is erased at once" in text_of(browser.get("/settings/close"))
    answer = browser.post("/settings/close", {"password": PASSWORD})
    page = text_of(browser.get(answer["Location"]))
    assert "Everything is being erased." in page
    assert "UTC" not in page


def test_mistakes_show_the_form_again(browser: Client, alice: User) -> None:
    for sent, status, words in (
        ({}, 400, "Please fill this in."),
        ({"password": "wrong.pass1"}, 401, "This is not your password."),
    ):
        assert words in text_of(browser.post("/settings/close", sent), status)
    codes = turn_on(alice)
    browser = browser_of(alice)
    assert 'name="otp"' in text_of(browser.get("/settings/close"))
    sent = {"password": PASSWORD}
    assert "Please enter the code" in text_of(browser.post("/settings/close", sent), 401)
    wrong = browser.post("/settings/close", sent | {"otp": "000000"})
    assert "This code is wrong" in text_of(wrong, 401)
    assert not Closing.objects.exists()
    assert browser.post("/settings/close", sent | {"otp": codes[0]}).status_code == 303


def test_the_page_refuses_the_last_admin(make_user: Make) -> None:
    admin = actions.promote(make_user(), 7)
    answer = browser_of(admin).post("/settings/close", {"password": PASSWORD})
    assert "You are the only admin." in text_of(answer, 403)


def test_other_devices_read_why_they_are_signed_out(alice: User) -> None:
    other = browser_of(alice)
    actions.close(alice, PASSWORD)
    assert "You closed this account." in text_of(other.get("/"))


# --- taking it back -----------------------------------------------------------------------------
def test_the_log_in_offers_the_account_and_one_button_opens_it(client: Client, alice: User) -> None:
    actions.close(alice, PASSWORD)
    wrong = client.post("/login", FORM | {"password": "wrong.pass1"})
    assert "is closed" not in text_of(wrong, 401)
    answer = client.post("/login", FORM | {"next": "/bookmarks"})
    page = text_of(answer, 403)
    assert "access" not in answer.cookies
    assert f"{Closing.objects.get().erase_at:%Y-%m-%d %H:%M} UTC" in page
    ticket = ticket_in(page)
    for bad in ("", "x", ticket[:-2]):
        answer = client.post("/login/reopen", {"ticket": bad})
        assert "That took too long." in text_of(answer, 401)
    assert client.get("/login/reopen").status_code == 303
    for other in ("/login/code", "/login/appeal"):
        assert client.post(other, {"ticket": ticket, "otp": "1"}).status_code == 401
    assert Closing.objects.exists()
    answer = client.post("/login/reopen", {"ticket": ticket, "next": "/bookmarks"})
    assert (answer.status_code, answer["Location"]) == (303, "/bookmarks")
    assert client.get("/bookmarks").status_code == 200
    assert not Closing.objects.exists()


def test_the_ticket_ends_with_the_password_and_with_the_grace(client: Client, alice: User) -> None:
    actions.close(alice, PASSWORD)
    ticket = ticket_in(text_of(client.post("/login", FORM), 403))
    end_grace(alice)
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 401
    assert "is closed" not in text_of(client.post("/login", FORM), 401)
    User.objects.filter(pk=alice.pk).update(password="another")
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 401
    assert Closing.objects.exists()


def test_a_ban_meanwhile_is_said_instead(client: Client, alice: User) -> None:
    actions.close(alice, PASSWORD)
    ticket = ticket_in(text_of(client.post("/login", FORM), 403))
    actions.ban(alice)
    answer = client.post("/login/reopen", {"ticket": ticket})
    assert "This account is banned." in text_of(answer, 403)
    assert "You cannot log in now" in text_of(client.post("/login", FORM), 403)


def test_the_code_comes_before_the_offer(client: Client, alice: User) -> None:
    codes = turn_on(alice)
    actions.close(alice, PASSWORD, codes[0])
    page = text_of(client.post("/login", FORM))
    assert "closed" not in page
    first = ticket_in(page)
    assert client.post("/login/reopen", {"ticket": first}).status_code == 401
    answer = client.post("/login/code", {"ticket": first, "otp": codes[1]})
    ticket = ticket_in(text_of(answer, 403))
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 303
    assert client.get("/settings/two-factor").status_code == 200


def test_a_second_factor_of_a_ticket_without_a_code_is_needed(client: Client, alice: User) -> None:
    actions.close(alice, PASSWORD)
    ticket = ticket_in(text_of(client.post("/login", FORM), 403))
    other = actions.reopen(alice, "linux")
    assert other.access
    codes = turn_on(alice)
    actions.close(alice, PASSWORD, codes[0])
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 401
    assert Closing.objects.exists()


# --- mails --------------------------------------------------------------------------------------
def test_a_mail_says_until_when_and_another_one_that_it_is_open(alice: User, deliver: Any) -> None:
    addressed(alice)
    deliver()
    actions.close(alice, PASSWORD)
    (mail,) = deliver()
    assert (mail.to, mail.subject) == (["a@example.org"], "Your account is closed")
    for words in ("@alice1", f"{Closing.objects.get().erase_at:%Y-%m-%d %H:%M} UTC", "/login"):
        assert words in mail.body
    actions.reopen(alice)
    (mail,) = deliver()
    assert mail.subject == "Your account is open again"
    assert "/recover" in mail.body


def test_without_a_grace_the_mail_says_that_nothing_comes_back(
    alice: User, deliver: Any, settings: Any
) -> None:
    settings.CLOSE_GRACE_DAYS = 0
    addressed(alice)
    actions.close(alice, PASSWORD)
    (mail,) = deliver()
    assert "cannot be taken back" in mail.body
    assert "/login" not in mail.body


def test_a_new_password_by_mail_does_not_open_the_account(
    alice: User, deliver: Any, client: Client
) -> None:
    addressed(alice)
    actions.close(alice, PASSWORD)
    deliver()
    actions.request_recovery("a@example.org")
    (mail,) = deliver()
    actions.recover(link_in(mail), "other.pass2")
    assert [mail.subject for mail in deliver()] == ["Your password was changed"]
    alice.refresh_from_db()
    assert not alice.is_active
    body = {"username": "alice1", "password": "other.pass2", "client": "ios"}
    login = APIClient().post(f"{V1}auth/login", body, format="json")
    assert login.json()["error"] == "ACCOUNT_CLOSING"
    actions.request_recovery("a@example.org")
    (mail,) = deliver()
    end_grace(alice)
    assert client.get(f"/recover/{link_in(mail)}").status_code == 400
    actions.request_recovery("a@example.org")
    assert deliver() == []


# --- staff --------------------------------------------------------------------------------------
def test_staff_see_from_when_a_closed_account_is_erased(alice: User, make_user: Make) -> None:
    staff = actions.promote(make_user("staff1"), Role.MEMBER | Role.ADMIN)
    actions.close(alice, PASSWORD)
    Closing.objects.update(erase_at=datetime(2031, 5, 6, tzinfo=UTC))
    page = text_of(browser_of(staff).get(f"/admin/accounts/user/{alice.pk}/change/"))
    assert "May 6, 2031" in page
    assert "closed the account" in page
