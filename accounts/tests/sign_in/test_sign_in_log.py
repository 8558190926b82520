"""The log of sign-ins: what it shows to whom, how long it is kept, and when a device is fresh."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, addresses, sign_in_log
from accounts.models import SignIn, User
from accounts.tests.browsers import browser_of, text_of
from socialsite.core import ids
from socialsite.tasks import apply_retention
from socialsite.tests.support.answers import assert_error, walk

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
LOG = "/api/v1/users/me/sign-ins"


def log_in(client: str, name: str = "alice1", **more: Any) -> APIClient:
    body = {"username": name, "password": "right.pass1", "client": client}
    api = APIClient()
    answer = api.post("/api/v1/auth/login", body, format="json", **more)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['access']}")
    return api


def aged(row: SignIn, **age: float) -> None:
    """Make a sign-in older."""
    then = timezone.now() - timedelta(**age)
    ident = ids.first_of(int(then.timestamp() * 1000)) + row.pk % 1000
    SignIn.objects.filter(pk=row.pk).update(id=ident, proved_at=then, address_at=then)


def test_each_sign_in_is_in_the_log_of_its_person_alone(alice: User, make_user: Make) -> None:
    make_user("bob123")
    log_in("android", REMOTE_ADDR="203.0.113.7", HTTP_USER_AGENT="Firefox/130 (Android 14)")
    web = log_in("windows")
    other = log_in("windows", "bob123")
    shown = web.get(LOG).json()
    assert [(one["client"], one["current"]) for one in shown["items"]] == [
        ("windows", True),
        ("android", False),
    ]
    assert shown["items"][1]["address"] == "203.0.113.7"
    assert "Android" in shown["items"][1]["name"]
    assert shown["next"] is None
    assert len(other.get(LOG).json()["items"]) == 1
    assert_error(APIClient().get(LOG), 401, "NOT_AUTHENTICATED")


def test_a_refused_log_in_is_not_in_the_log(alice: User) -> None:
    body = {"username": "alice1", "password": "wrong.pass1"}
    assert_error(
        APIClient().post("/api/v1/auth/login", body, format="json"), 401, "PASSWORD_NOT_CORRECTED"
    )
    assert not SignIn.objects.exists()


def test_ended_sign_ins_stay_and_pages_follow_each_other(alice: User) -> None:
    for _ in range(5):
        last = log_in("ios")
    every = last.get(LOG).json()["items"]
    assert [one["current"] for one in every] == [True, False, False, False, False]
    idents = [one["id"] for one in every]
    assert walk(last, "users/me/sign-ins", size=2) == [idents[:2], idents[2:4], idents[4:]]


def test_the_page_shows_the_log_and_devices_lead_to_it(alice: User) -> None:
    browser = browser_of(alice)
    assert "/settings/sign-ins" in browser.get("/settings/devices").content.decode()
    page = text_of(browser.get("/settings/sign-ins"))
    assert "This device" in page
    SignIn.objects.all().delete()
    assert "There are none in the log." in text_of(browser.get("/settings/sign-ins"))


def test_addresses_and_old_sign_ins_go(alice: User, settings: Any) -> None:
    settings.IP_DAYS = 30
    log_in("ios", REMOTE_ADDR="203.0.113.7")
    log_in("android", REMOTE_ADDR="203.0.113.8")
    log_in("windows", REMOTE_ADDR="203.0.113.9")
    old, middle, _new = SignIn.objects.order_by("pk")
    aged(old, days=sign_in_log.DAYS + 1)
    aged(middle, days=31)
    addresses.erase_old()
    apply_retention()
    rows = SignIn.objects.order_by("pk").values_list("client", "address")
    assert list(rows) == [("android", ""), ("windows", "203.0.113.9")]


def test_a_device_is_fresh_for_a_time_after_its_last_sign_in(alice: User) -> None:
    log_in("ios")
    log_in("android")
    assert sign_in_log.is_fresh(alice.pk, "ios")
    assert not sign_in_log.is_fresh(alice.pk, "windows")
    aged(SignIn.objects.get(client="ios"), minutes=16)
    assert not sign_in_log.is_fresh(alice.pk, "ios")
    assert sign_in_log.is_fresh(alice.pk, "android")
    sign_in_log.prove(alice.pk, "ios")
    assert sign_in_log.is_fresh(alice.pk, "ios")
    assert SignIn.objects.count() == 2
    sign_in_log.prove(alice.pk, "windows")
    assert sign_in_log.is_fresh(alice.pk, "windows")


def test_a_banned_person_leaves_no_sign_in(alice: User) -> None:
    actions.ban(alice)
    body = {"username": "alice1", "password": "right.pass1"}
    assert APIClient().post("/api/v1/auth/login", body, format="json").status_code == 403
    assert not SignIn.objects.exists()
