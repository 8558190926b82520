"""The first steps: shown after the sign-up, ticked by what was done, and ended for good."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds.views.home import FEW_FOLLOWS
from relations import actions as relations_actions

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
CARD = {"HX-Request": "true", "HX-Target": "first-steps"}


def done(page: str) -> int:
    return len(re.findall(r'class="[^"]*welcome-step done', page))


def test_after_the_sign_up_one_is_welcomed_or_where_one_wanted_to_be() -> None:
    form = {"username": "newcomer", "nickname": "Newcomer", "password": "right.pass1"}
    answer = Client().post("/register", form)
    assert (answer.status_code, answer["Location"]) == (303, "/welcome")
    form = {**form, "username": "visitor1", "next": "/search?q=x"}
    answer = Client().post("/register", form)
    assert (answer.status_code, answer["Location"]) == (303, "/search?q=x")


def test_each_step_is_ticked_by_what_was_done(
    browser: Client, me: User, make_user: Make, make_post: Make
) -> None:
    others = [make_user() for _ in range(3)]
    assert done(text_of(browser.get("/welcome"))) == 0
    make_post(me)
    assert done(text_of(browser.get("/welcome"))) == 1
    for number, other in enumerate(others):
        assert done(text_of(browser.get("/welcome"))) == 1, number
        relations_actions.follow(me, other)
    assert done(text_of(browser.get("/welcome"))) == 2
    User.objects.filter(pk=me.pk).update(bio="words", avatar_name="aa/a.jpg")
    assert done(text_of(browser.get("/welcome"))) == 3
    assert text_of(browser.get("/welcome", headers=CARD)) == ""


def test_the_page_suggests_people_and_has_the_composer(
    browser: Client, me: User, make_user: Make
) -> None:
    friend, other = make_user(), make_user()
    relations_actions.follow(me, friend)
    relations_actions.follow(friend, other)
    page = text_of(browser.get("/welcome"))
    assert f"@{other.username}" in page
    assert 'data-testid="composer"' in page


def test_home_loads_the_card_while_few_people_are_followed(
    browser: Client, me: User, make_user: Make
) -> None:
    for _ in range(FEW_FOLLOWS):
        assert 'id="first-steps"' in text_of(browser.get("/"))
        relations_actions.follow(me, make_user())
    assert 'id="first-steps"' not in text_of(browser.get("/"))


def test_what_is_skipped_does_not_come_back(browser: Client, me: User) -> None:
    assert "first-steps" in text_of(browser.get("/welcome", headers=CARD))
    answer = browser.post("/welcome/skip")
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert text_of(browser.get("/welcome", headers=CARD)) == ""
    assert "Welcome" in text_of(browser.get("/welcome"))  # the page itself can be opened again


def test_with_htmx_the_card_goes_away(browser: Client) -> None:
    assert text_of(browser.post("/welcome/skip", headers=CARD)) == ""


def test_guests_are_asked_to_log_in(client: Client) -> None:
    assert client.get("/welcome").status_code in (302, 303, 401)
    assert client.post("/welcome/skip").status_code in (302, 303, 401)
