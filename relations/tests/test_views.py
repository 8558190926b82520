"""Pages of relations: lists, the follow button with and without htmx, the admin."""

import pytest
from django.test import Client

from accounts import actions as accounts_actions
from accounts import cookies
from accounts.models import Role
from relations import actions, limits
from relations.models import Relation, RelationLog, Relationship
from relations.tests.helpers import pair

pytestmark = pytest.mark.django_db

LISTS = ["following", "followers", "friends"]


@pytest.fixture
def browser_of():
    """A browser in which a person is logged in."""

    def make(user) -> Client:
        tokens = accounts_actions.sign_in(user, client="other")
        client = Client()
        client.cookies[cookies.ACCESS] = tokens.access
        client.cookies[cookies.REFRESH] = tokens.refresh
        return client

    return make


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_shows_the_people_to_guests(make_user, kind) -> None:
    hub, friend = make_user("Hubert"), make_user("Friend01")
    actions.follow(hub, friend)
    actions.follow(friend, hub)
    response = Client().get(f"/@hUBERT/{kind}")
    assert response.status_code == 200
    assert "@Friend01" in response.content.decode()


@pytest.mark.parametrize("kind", LISTS)
def test_an_empty_list_and_an_unknown_person_have_pages(make_user, kind) -> None:
    make_user("Hubert")
    assert Client().get(f"/@Hubert/{kind}").status_code == 200
    assert Client().get(f"/@nobody99/{kind}").status_code == 404
    assert Client().get(f"/@Hubert/{kind}?cursor=x").status_code == 400


def test_a_further_page_for_htmx_is_the_rows_alone(make_user) -> None:
    hub = make_user()
    for _ in range(21):
        actions.follow(make_user(), hub)
    first = Client().get(f"/@{hub.username}/followers")
    page = first.content.decode()
    assert page.count('data-testid="person"') == 20
    cursor = page.split("cursor=")[1].split('"')[0]
    address = f"/@{hub.username}/followers?cursor={cursor}"
    rest = Client().get(address, headers={"HX-Request": "true"}).content.decode()
    assert rest.count('data-testid="person"') == 1
    assert "<html" not in rest
    assert "<html" in Client().get(address).content.decode()


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_is_hidden_from_whom_its_owner_blocks(make_user, browser_of, kind) -> None:
    owner, reader = make_user(), make_user()
    actions.block(owner, reader)
    assert browser_of(reader).get(f"/@{owner.username}/{kind}").status_code == 404
    response = browser_of(owner).get(f"/@{reader.username}/{kind}")
    assert (response.status_code, response["Location"]) == (302, f"/@{reader.username}")


# --- the button ---------------------------------------------------------------------------------
def test_the_button_follows_and_returns_to_the_profile(make_user, browser_of) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    response = browser.post(f"/@{b.username.upper()}/follow", {"follow": "1"})
    assert (response.status_code, response["Location"]) == (303, f"/@{b.username}")
    assert pair(a, b)[0] is Relation.FOLLOWING
    response = browser.post(f"/@{b.username}/follow", {"follow": "0", "next": "/search?q=x"})
    assert (response.status_code, response["Location"]) == (303, "/search?q=x")
    assert pair(a, b)[0] is None


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "\\\\evil", ""]
)
def test_the_way_back_never_leaves_the_site(make_user, browser_of, target) -> None:
    a, b = make_user(), make_user()
    response = browser_of(a).post(f"/@{b.username}/follow", {"follow": "1", "next": target})
    assert response["Location"] == f"/@{b.username}"


def test_htmx_gets_the_button_in_its_new_state(make_user, browser_of) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    htmx = {"HX-Request": "true"}
    response = browser.post(f"/@{b.username}/follow", {"follow": "1"}, headers=htmx)
    assert response.status_code == 200
    text = response.content.decode()
    assert 'aria-pressed="true"' in text
    assert "<html" not in text
    response = browser.post(f"/@{b.username}/follow", {"follow": "0"}, headers=htmx)
    assert 'aria-pressed="false"' in response.content.decode()


def test_what_the_button_cannot_do_is_said_on_a_page(make_user, browser_of) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    assert browser.get(f"/@{b.username}/follow").status_code == 405
    assert browser.post(f"/@{b.username}/follow", {"follow": "2"}).status_code == 400
    assert browser.post(f"/@{a.username}/follow", {"follow": "1"}).status_code == 400
    assert browser.post("/@nobody99/follow", {"follow": "1"}).status_code == 404
    assert Client().post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 401
    actions.block(b, a)
    assert browser.post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 403
    limits.FOLLOW.take(a.pk, cost=limits.FOLLOW.take(a.pk).remaining)
    response = browser.post(f"/@{b.username}/follow", {"follow": "1"})
    assert (response.status_code, response["Retry-After"]) == (429, "1")
    assert not Relationship.objects.filter(relation=Relation.FOLLOWING).exists()


def test_the_button_needs_a_csrf_token(make_user, browser_of) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    browser.handler.enforce_csrf_checks = True
    assert browser.post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 403
    assert pair(a, b)[0] is None


# --- admin --------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", ["relationship", "relationlog", "relationcount"])
def test_the_admin_shows_relations_and_changes_none(make_user, browser_of, model) -> None:
    a, b = make_user(), make_user()
    actions.follow(a, b)
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    browser = browser_of(admin)
    base = f"/admin/relations/{model}/"
    assert browser.get(base).status_code == 200
    assert browser.get(base + f"?q={a.username}").status_code == 200
    found = {"relationship": Relationship, "relationlog": RelationLog}.get(model)
    ident = a.pk if found is None else found.objects.first().pk
    assert browser.get(f"{base}{ident}/change/").status_code == 200
    assert browser.get(base + "add/").status_code == 403
    assert browser.post(f"{base}{ident}/change/", {}).status_code == 403
    assert browser.post(f"{base}{ident}/delete/", {"post": "yes"}).status_code == 403
    assert pair(a, b)[0] is Relation.FOLLOWING
