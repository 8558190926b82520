"""The first steps: shown after the sign-up, ticked by what was done, and ended for good."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.request_auth.cookies import STEPS
from accounts.tests.browsers import text_of
from feeds.views.home import FEW_FOLLOWS, POSTS_BEFORE
from relations import actions as relations_actions

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
HTMX = {"HX-Request": "true"}
CARD = 'data-testid="first-steps"'
SUGGESTIONS = 'data-testid="few-follows"'


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


def test_the_page_suggests_people_and_has_the_composer(
    browser: Client, me: User, make_user: Make
) -> None:
    friend, other = make_user(), make_user()
    relations_actions.follow(me, friend)
    relations_actions.follow(friend, other)
    page = text_of(browser.get("/welcome"))
    assert f"@{other.username}" in page
    assert 'data-testid="composer"' in page


@pytest.fixture
def newcomer() -> Client:
    """Return the browser of somebody who just signed up, to go on to another page."""
    form = {"username": "newcomer", "nickname": "Newcomer", "password": "right.pass1"}
    client = Client()
    answer = client.post("/register", {**form, "next": "/search?q=x"})
    assert answer["Location"] == "/search?q=x"
    return client


def test_the_card_stays_until_all_is_done(
    newcomer: Client, make_user: Make, make_post: Make
) -> None:
    me = User.objects.get(username="newcomer")
    make_post(me)
    for _ in range(FEW_FOLLOWS + 1):
        assert CARD in text_of(newcomer.get("/"))
        relations_actions.follow(me, make_user())
    assert CARD in text_of(newcomer.get("/"))  # without a profile
    User.objects.filter(pk=me.pk).update(bio="words", avatar_name="aa/a.jpg")
    assert CARD not in text_of(newcomer.get("/"))
    # From then on Home does not ask.
    assert not newcomer.cookies[STEPS].value


def test_what_is_dismissed_does_not_come_back(newcomer: Client) -> None:
    assert CARD in text_of(newcomer.get("/"))
    answer = newcomer.post("/welcome/skip")
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert not newcomer.cookies[STEPS].value
    newcomer.cookies[STEPS] = "1"  # as another device still has it
    assert CARD not in text_of(newcomer.get("/"))
    assert not newcomer.cookies[STEPS].value
    assert "Welcome" in text_of(newcomer.get("/welcome"))  # the page itself can be opened again
    newcomer.post("/logout")
    newcomer.post("/login", {"username": "newcomer", "password": "right.pass1"})
    assert CARD not in text_of(newcomer.get("/"))


def test_the_next_person_of_a_browser_has_steps_of_their_own(
    newcomer: Client, make_user: Make
) -> None:
    old = make_user()
    accounts_actions.end_first_steps(old)
    newcomer.post("/logout")
    newcomer.post("/login", {"username": old.username, "password": "right.pass1"})
    assert CARD not in text_of(newcomer.get("/"))
    assert not newcomer.cookies[STEPS].value


def test_with_htmx_the_card_goes_away(newcomer: Client) -> None:
    answer = newcomer.post("/welcome/skip", headers=HTMX)
    assert text_of(answer) == ""
    assert CARD not in text_of(newcomer.get("/"))


def test_home_suggests_people_while_few_are_followed(
    browser: Client, me: User, make_user: Make, make_post: Make
) -> None:
    friend, stranger = make_user(), make_user(username="somebodynew")
    relations_actions.follow(me, friend)
    relations_actions.follow(friend, stranger)
    for _ in range(POSTS_BEFORE + 2):
        make_post(friend)
    for _ in range(FEW_FOLLOWS - 1):
        page = text_of(browser.get("/"))
        assert page.count(SUGGESTIONS) == 1
        assert page[: page.index(SUGGESTIONS)].count("<article") == POSTS_BEFORE
        assert "@somebodynew" in page
        relations_actions.follow(me, make_user())
    assert SUGGESTIONS not in text_of(browser.get("/"))
    found = re.search(r'data-top="(\?cursor=[^"]+)"', page)
    assert found
    assert SUGGESTIONS not in text_of(browser.get(f"/{found[1]}"))


def test_an_empty_home_suggests_people_too(browser: Client, make_user: Make, drain: Make) -> None:
    popular = make_user(username="wellknown")
    for _ in range(3):
        relations_actions.follow(make_user(), popular)
    drain()
    page = text_of(browser.get("/"))
    assert page.count(SUGGESTIONS) == 1
    assert "@wellknown" in page
    assert browser.post(f"/suggestions/{popular.pk}/dismiss", {"next": "/"})["Location"] == "/"
    assert SUGGESTIONS not in text_of(browser.get("/"))


def test_guests_are_asked_to_log_in(client: Client) -> None:
    assert client.get("/welcome").status_code in (302, 303, 401)
    assert client.post("/welcome/skip").status_code in (302, 303, 401)
