"""What a reader sees without asking: kept with the account, and followed by their browsers."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions, queries
from accounts.models import User
from accounts.request_auth.cookies import ACCESS, READING, REFRESH, STEPS

pytestmark = pytest.mark.django_db

PAGE, API = "/settings/reading", "/api/v1/users/me/preferences"
LOGIN = {"username": "alice1", "password": "right.pass1"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEVER = {"unfold_notes": None, "show_sensitive": None}


@pytest.fixture
def mine(api_for: Any, alice: User) -> APIClient:
    client: APIClient = api_for(alice)
    return client


def another(**cookies: str) -> Client:
    """Return a browser of another kind, after a log-in."""
    client = Client(HTTP_USER_AGENT=FIREFOX)
    for name, value in cookies.items():
        client.cookies[name] = value
    assert client.post("/login", LOGIN).status_code == 303
    return client


def choices(client: Client) -> str:
    return client.cookies[READING].value if READING in client.cookies else ""


def exchange(client: Client) -> None:
    """Let the access token of a browser be replaced."""
    before = client.cookies[REFRESH].value
    client.cookies[ACCESS] = "dead"
    assert client.get("/bookmarks").status_code == 200
    assert client.cookies[REFRESH].value != before


def test_the_api_shows_and_changes_the_given_choices(mine: APIClient) -> None:
    assert mine.get(API).json() == NEVER
    answer = mine.patch(API, {"unfold_notes": True}, format="json")
    assert (answer.status_code, answer.json()) == (200, {**NEVER, "unfold_notes": True})
    answer = mine.patch(API, {"show_sensitive": False}, format="json")
    assert answer.json() == {"unfold_notes": True, "show_sensitive": False}
    assert mine.patch(API, {}, format="json").json() == answer.json()
    assert mine.patch(API, NEVER, format="json").json() == NEVER
    assert mine.get(API).json() == NEVER


def test_the_api_refuses_what_is_none_of_them(mine: APIClient, api: APIClient) -> None:
    for sent, field in (({"notes": True}, "notes"), ({"unfold_notes": "often"}, "unfold_notes")):
        answer = mine.patch(API, {"show_sensitive": True, **sent}, format="json")
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert list(answer.json()["fields"]) == [field]
    assert mine.get(API).json() == NEVER
    for answer in (api.get(API), api.patch(API, {}, format="json")):
        assert (answer.status_code, answer.json()["code"]) == (401, 14)


def test_the_page_keeps_them_with_the_account(browser: Client, alice: User) -> None:
    assert browser.post(PAGE, {"notes": "1"}).status_code == 303
    assert queries.preferences(alice.pk) == {"unfold_notes": True, "show_sensitive": False}
    assert choices(browser) == "notes"
    page = browser.get(PAGE).content.decode()
    assert page.count(" checked>") == 1
    assert "on all devices" in page
    guest = Client().get(PAGE).content.decode()
    assert "applies to this browser" in guest
    # The account decides, whatever the cookie of this browser says.
    browser.cookies[READING] = "pictures"
    page = browser.get(PAGE).content.decode()
    assert page.index('name="notes"') < page.index(" checked>") < page.index('name="pictures"')


def test_a_browser_that_logs_in_follows_the_account(browser: Client) -> None:
    browser.post(PAGE, {"notes": "1"})
    assert choices(another()) == "notes"
    assert choices(another(**{READING: "pictures"})) == "notes"
    browser.post(PAGE, {})
    assert choices(another(**{READING: "notes-pictures"})) == ""


def test_an_account_without_choices_leaves_those_of_the_browser(
    alice: User,
) -> None:
    assert choices(another(**{READING: "notes"})) == "notes"
    actions.set_preferences(alice, show_sensitive=True)
    assert choices(another(**{READING: "notes"})) == "notes-pictures"


def test_other_browsers_follow_when_their_token_is_exchanged(browser: Client, alice: User) -> None:
    actions.set_preferences(alice, unfold_notes=True)
    assert choices(browser) == ""
    User.objects.filter(pk=alice.pk).update(first_steps=True)
    exchange(browser)
    assert choices(browser) == "notes"
    assert browser.cookies[STEPS].value == "1"
    User.objects.filter(pk=alice.pk).update(first_steps=False)
    actions.set_preferences(alice, unfold_notes=False)
    exchange(browser)
    assert choices(browser) == ""
    assert browser.cookies[STEPS].value == ""


def test_an_exchange_does_not_undo_what_the_same_request_chose(
    browser: Client, alice: User
) -> None:
    browser.cookies[ACCESS] = "dead"
    browser.post(PAGE, {"pictures": "1"})
    assert choices(browser) == "pictures"
    assert queries.preferences(alice.pk)["show_sensitive"] is True
