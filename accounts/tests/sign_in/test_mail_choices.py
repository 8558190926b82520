"""Mails that people choose: when one is sent, and how each kind ends with one click."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMultiAlternatives
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import MailKind, SignIn, User
from accounts.tests.browsers import browser_of, text_of

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
Deliver = Callable[[], list[Any]]
ME = "/api/v1/users/me"
ADDRESS, PASSWORD = "alice@example.org", "right.pass1"
ANDROID = "Mozilla/5.0 (Android 14; Mobile; rv:130.0) Gecko/130.0 Firefox/130.0"
LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


@pytest.fixture(autouse=True)
def with_address(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email=ADDRESS, email_key=ADDRESS)


def log_in(agent: str, password: str = PASSWORD) -> int:
    body = {"username": "alice1", "password": password, "client": "other"}
    answer = APIClient().post(
        "/api/v1/auth/login",
        body,
        format="json",
        HTTP_USER_AGENT=agent,
        REMOTE_ADDR="203.0.113.7",
    )
    return answer.status_code


def token_in(mail: EmailMultiAlternatives) -> str:
    header = mail.extra_headers["List-Unsubscribe"]
    return header.strip("<>").rpartition("/")[2]


def test_a_new_device_is_told_once(alice: User, deliver: Deliver) -> None:
    log_in(LINUX)
    assert deliver() == []  # the first of all
    log_in(LINUX)
    assert deliver() == []
    log_in(ANDROID)
    (mail,) = deliver()
    assert mail.to == [ADDRESS]
    assert "Android" in mail.body
    assert "Linux" not in mail.body
    assert "203.0.113.7" in mail.body
    assert "/recover" in mail.body
    log_in(ANDROID)
    assert deliver() == []


def test_a_wrong_password_and_people_without_an_address_get_none(
    alice: User, deliver: Deliver
) -> None:
    log_in(LINUX)
    assert log_in(ANDROID, "wrong.pass1") == 401
    assert deliver() == []
    User.objects.filter(pk=alice.pk).update(email="")
    log_in(ANDROID)
    assert deliver() == []


def test_a_device_that_the_log_forgot_is_new_again(alice: User, deliver: Deliver) -> None:
    log_in(LINUX)
    log_in(ANDROID)
    deliver()
    SignIn.objects.filter(user_agent=ANDROID).delete()
    log_in(ANDROID)
    assert len(deliver()) == 1


def test_the_mail_is_plain_and_html_and_ends_with_one_click(alice: User, deliver: Deliver) -> None:
    log_in(LINUX)
    log_in(ANDROID)
    (mail,) = deliver()
    assert mail.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    ((page, kind),) = mail.alternatives
    assert kind == "text/html"
    assert "<p>" in page
    link = f"/email/off/{token_in(mail)}"
    assert link in page
    assert link in mail.body
    stranger = Client(enforce_csrf_checks=True)
    asked = stranger.get(link)
    assert "No more of these mails" in text_of(asked)
    alice.refresh_from_db()
    assert alice.mails == MailKind.SIGN_INS  # programs open links too
    body = "List-Unsubscribe=One-Click"
    for _ in range(2):
        done = stranger.post(link, body, content_type="application/x-www-form-urlencoded")
        assert done.status_code == 200
    alice.refresh_from_db()
    assert alice.mails == 0
    SignIn.objects.filter(user_agent=ANDROID).delete()
    log_in(ANDROID)
    assert deliver() == []


def test_a_mail_that_waits_is_not_sent_after_the_end(alice: User, deliver: Deliver) -> None:
    log_in(LINUX)
    log_in(ANDROID)
    User.objects.filter(pk=alice.pk).update(mails=0)
    assert deliver() == []


@pytest.mark.parametrize("token", ["x", "1:2:3", "WzEsMV0:1abc:nonsense"])
def test_a_wrong_link_changes_nothing(token: str, alice: User) -> None:
    for answer in (Client().get(f"/email/off/{token}"), Client().post(f"/email/off/{token}")):
        assert answer.status_code == 400
    alice.refresh_from_db()
    assert alice.mails == MailKind.SIGN_INS


def test_the_settings_choose_mails(alice: User) -> None:
    browser = browser_of(alice)
    page = browser.get("/settings/email").content.decode()
    assert re.search(r'name="mail_sign_ins" checked', page)
    for data, mails in (({}, 0), ({"mail_sign_ins": "on"}, MailKind.SIGN_INS)):
        answer = browser.post("/settings/email", {"choose": "1", **data}, follow=True)
        assert "Your choice is saved." in text_of(answer)
        alice.refresh_from_db()
        assert alice.mails == mails


def test_an_old_sign_in_is_known_while_the_log_has_it(alice: User, deliver: Deliver) -> None:
    log_in(ANDROID)
    old = timezone.now() - timedelta(days=60)
    SignIn.objects.update(proved_at=old)
    log_in(LINUX)
    assert len(deliver()) == 1


def test_the_api_shows_and_takes_the_choices_of_oneself(
    alice: User, make_user: Make, api_for: Make
) -> None:
    mine = api_for(alice)
    assert mine.get(ME).json()["mails"] == ["sign_ins"]
    answer = mine.patch(ME, {"mails": ["digest", "mentions"]}, format="json")
    assert answer.json()["mails"] == mine.get(ME).json()["mails"] == ["mentions", "digest"]
    alice.refresh_from_db()
    assert alice.mails == MailKind.MENTIONS | MailKind.DIGEST
    assert alice.digest_due is not None
    for wrong in (["letters"], "digest", [1], ["digest"] * 4):
        refused = mine.patch(ME, {"mails": wrong, "bio": "new"}, format="json")
        assert refused.status_code == 400
        assert "mails" in refused.json()["fields"]
    alice.refresh_from_db()
    assert (alice.mails, alice.bio) == (MailKind.MENTIONS | MailKind.DIGEST, "")
    assert mine.patch(ME, {"mails": []}, format="json").json()["mails"] == []
    other = api_for(make_user())
    assert "mails" not in other.get("/api/v1/users/by-name/alice1").json()
