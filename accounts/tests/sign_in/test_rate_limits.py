"""Rate limits of requests: one round trip together with authentication, and the right owner."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions
from accounts.request_auth.middleware import TokenMiddleware
from accounts.tests.browsers import browser_of
from socialsite.core import redis
from socialsite.core.errors import RateLimited
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.rate_limits.budget import Budget, Rate
from socialsite.core.requests import request_budgets
from socialsite.tests.support.pictures import picture

pytestmark = pytest.mark.django_db

PASSWORD = "right.pass1"
HTMX = {"HX-Request": "true"}


def client_of(access: str) -> APIClient:
    found = APIClient()
    found.credentials(HTTP_AUTHORIZATION=f"Bearer {access}")
    return found


def remaining(budget: Budget, user: Any) -> int:
    """Return the rest of a person's budget."""
    return buckets.take(budget, user.pk, cost=0).remaining


@pytest.mark.parametrize("cookies", [False, True])
def test_a_token_that_was_revoked_takes_nothing_from_its_person(make_user, cookies: bool) -> None:
    user = make_user()
    old = actions.sign_in(user, "chrome")
    thief: Any = client_of(old.access)
    if cookies:
        thief = Client()
        thief.cookies["access"] = old.access
    actions.log_out(user, "chrome")
    for path in ("/api/v1/users/me", "/api/v1/feed?max_time=1", "/bookmarks?max_time=1"):
        for _ in range(3):
            assert thief.get(path).status_code in (401, 302)
    assert remaining(budgets.READ, user) == 3000
    assert remaining(budgets.DEEP_READ, user) == 600
    mine = client_of(actions.sign_in(user, "android").access)
    assert mine.get("/api/v1/users/me").status_code == 200
    assert remaining(budgets.READ, user) == 2999


def test_a_budget_of_a_person_costs_no_round_trip(
    make_user, make_post, api_for, round_trips: list[int], settings
) -> None:
    user, post = make_user(), make_post(make_user())
    client, browser = api_for(user, "android"), browser_of(user)
    redis.call(lambda connection: connection.flushdb())  # and with it the fences of the sign-ins
    sends: list[Callable[[], Any]] = [
        lambda: client.put(f"/api/v1/posts/{post.pk}/like"),
        lambda: client.get("/api/v1/users/me"),
        lambda: client.get("/api/v1/feed?max_time=1"),
        lambda: browser.post(f"/posts/{post.pk}/like", {"liked": "1"}),
        lambda: browser.get("/bookmarks?max_time=1"),
    ]
    costs = []
    for rates in ({}, budgets.read({}, lifted=True)):
        settings.BUDGETS = rates
        for send in sends:
            send()
            send()
        found = []
        for send in sends:
            round_trips.clear()
            assert send().status_code in (200, 303)
            found.append(len(round_trips))
        costs.append(found)
    assert costs[0] == costs[1]


def test_api_responses_name_the_budget_that_is_nearest_to_empty(
    api_for, make_user, settings
) -> None:
    user = make_user()
    client = api_for(user)
    settings.BUDGETS = {"read": Rate(100, 3600), "deep_read": Rate(3, 3600)}
    answer = client.get("/api/v1/bookmarks")
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("100", "99")
    answer = client.get("/api/v1/bookmarks?max_time=1")
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("3", "2")
    answer = client.get("/api/v1/feed?max_time=1")
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("3", "1")
    assert "RateLimit-Limit" not in client.get("/api/v1/feed")
    assert client.get("/api/v1/feed?max_time=1").status_code == 200
    for path in ("/api/v1/feed", "/api/v1/bookmarks"):
        answer = client.get(f"{path}?max_time=1")
        assert (answer.status_code, answer.json()["code"]) == (429, 11)
        assert answer["Retry-After"] == "1"
        assert client.get(path).status_code == 200
    # A request that one budget refuses takes from none.
    assert remaining(budgets.READ, user) == 100 - 3


def test_guests_have_the_budget_of_their_address_and_members_their_own(
    api_for, make_user, settings
) -> None:
    settings.BUDGETS = {"guest_read": Rate(2, 60)}
    guest, path = APIClient(), "/api/v1/feed/recommended"
    assert [guest.get(path).status_code for _ in range(3)] == [200, 200, 429]
    for page in ("/recommended", "/"):
        answer = Client().get(page)
        assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
        assert "Too many requests. Please wait a moment." in answer.content.decode()
    assert APIClient(REMOTE_ADDR="203.0.113.5").get(path).status_code == 200
    assert api_for(make_user()).get(path).status_code == 200


def test_deep_pages_are_refused_with_a_text_for_htmx(make_user, settings) -> None:
    settings.BUDGETS = {"deep_read": Rate(1, 60)}
    browser = browser_of(make_user())
    for page in ("/", "/recommended", "/bookmarks", "/notifications"):
        browser.get(f"{page}?max_time=1")
        answer = browser.get(f"{page}?max_time=1", headers=HTMX)
        assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
        assert "Too many requests" in answer.content.decode()
        assert browser.get(page).status_code == 200


@pytest.mark.parametrize(
    ("name", "path", "fields", "kept"),
    [
        ("login", "/login", {"username": "alice1", "password": "x"}, "alice1"),
        ("account", "/settings/password", {"old_password": "x"}, ""),
        ("account", "/settings/email", {"email": "me@example.org"}, "me@example.org"),
        ("account", "/settings/two-factor", {"password": "x"}, ""),
        ("account", "/settings/two-factor/confirm", {"otp": "1"}, ""),
    ],
)
def test_a_form_shows_the_wait_and_the_input(
    make_user, settings, name: str, path: str, fields: dict[str, str], kept: str
) -> None:
    settings.BUDGETS = {name: Rate(1, 60)}
    browser = Client() if name == "login" else browser_of(make_user())
    assert browser.post(path, fields).status_code != 429
    answer = browser.post(path, fields)
    page = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert "Too many requests. Please wait a moment." in page
    assert f'value="{kept}"' in page or not kept
    assert "<form" in page


def test_the_composer_takes_from_the_budget_of_uploads_for_each_picture(
    make_user, settings
) -> None:
    settings.BUDGETS = {"upload": Rate(3, 60)}
    browser = browser_of(make_user())

    def publish(pictures: int) -> Any:
        files = [SimpleUploadedFile(f"{n}.png", picture()) for n in range(pictures)]
        return browser.post("/posts", {"content": "my words", "images": files})

    assert [publish(2).status_code, publish(0).status_code] == [303, 303]
    refused = publish(2)
    assert refused.status_code == 429
    assert "my words" in refused.content.decode()
    assert publish(1).status_code == 303


def test_exchanging_tokens_too_often_is_refused_by_page_and_api(make_user, settings) -> None:
    settings.BUDGETS = {"refresh": Rate(2, 60)}
    user = make_user()
    browser = Client()
    browser.cookies["refresh"] = refresh = actions.sign_in(user, "chrome").refresh
    api = APIClient()

    def exchange() -> Any:
        return api.post("/api/v1/auth/refresh", {"refresh": refresh}, format="json")

    assert [browser.get("/bookmarks").status_code, exchange().status_code] == [200, 200]
    browser.cookies["refresh"] = refresh
    del browser.cookies["access"]
    page = browser.get("/bookmarks")
    assert (page.status_code, page["Retry-After"]) == (429, "60")
    assert not {"access", "refresh"} & page.cookies.keys()  # the browser stays signed in
    assert exchange().status_code == 429
    nonsense = api.post("/api/v1/auth/refresh", {"refresh": "x"}, format="json")
    assert nonsense.status_code == 401


@pytest.mark.parametrize("before", [None, "staff", "mark"])
def test_a_budget_counts_even_if_the_visitor_was_read_before(
    rf, make_user, settings, before: str | None
) -> None:
    """The admin identifies the visitor before its page declares its budgets."""
    settings.BUDGETS = {"staff": Rate(1, 1), "mark": Rate(1, 1)}
    user = make_user()
    access = actions.sign_in(user, "chrome").access

    def page() -> None:
        request = rf.post("/admin/")
        request.COOKIES["access"] = access
        TokenMiddleware(lambda request: HttpResponse()).process_request(request)
        if before is not None:
            request_budgets.prepare(request, {"POST": (budgets.TABLE[before],)})
        assert request.user.is_authenticated
        request_budgets.prepare(request, {"POST": (budgets.STAFF,)})
        request_budgets.spend(request)

    page()
    assert remaining(budgets.STAFF, user) == 0
    with pytest.raises(RateLimited):
        page()
