"""Pages of relations: lists, buttons with and without htmx, the list of blocked people."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions as accounts_actions
from accounts.tests.browsers import browser_of
from relations import actions
from relations.models import Relation, Relationship
from relations.tests.helpers import bring, pair
from socialsite.core.http import page_sizes
from socialsite.core.rate_limits import buckets, budgets

pytestmark = pytest.mark.django_db

LISTS = ["following", "followers", "friends"]
HTMX = {"HX-Request": "true"}


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
def test_a_list_is_hidden_from_people_its_owner_blocks(make_user, kind) -> None:
    owner, reader = make_user(), make_user()
    actions.block(owner, reader)
    assert browser_of(reader).get(f"/@{owner.username}/{kind}").status_code == 404
    response = browser_of(owner).get(f"/@{reader.username}/{kind}")
    assert (response.status_code, response["Location"]) == (302, f"/@{reader.username}")


# --- the button ---------------------------------------------------------------------------------
def test_the_button_follows_and_returns_to_the_profile(make_user) -> None:
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
def test_the_way_back_never_leaves_the_site(make_user, target) -> None:
    a, b = make_user(), make_user()
    response = browser_of(a).post(f"/@{b.username}/follow", {"follow": "1", "next": target})
    assert response["Location"] == f"/@{b.username}"


def test_htmx_gets_the_button_in_its_new_state(make_user) -> None:
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


def test_an_error_of_the_button_shows_on_a_page(make_user) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    assert browser.get(f"/@{b.username}/follow").status_code == 405
    assert browser.post(f"/@{b.username}/follow", {"follow": "2"}).status_code == 400
    assert browser.post(f"/@{a.username}/follow", {"follow": "1"}).status_code == 400
    assert browser.post("/@nobody99/follow", {"follow": "1"}).status_code == 404
    assert Client().post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 401
    actions.block(b, a)
    assert browser.post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 404
    buckets.take(budgets.FOLLOW, a.pk, cost=buckets.take(budgets.FOLLOW, a.pk).remaining)
    response = browser.post(f"/@{b.username}/follow", {"follow": "1"})
    assert (response.status_code, response["Retry-After"]) == (429, "1")
    assert not Relationship.objects.filter(relation=Relation.FOLLOWING).exists()


def test_a_page_opened_before_a_ban_lets_one_leave_and_block(make_user) -> None:
    a, b = make_user(), make_user()
    actions.follow(a, b)
    accounts_actions.ban(b)
    browser = browser_of(a)
    profile = f"/@{b.username}"
    response = browser.post(f"{profile}/follow", {"follow": "0", "next": profile})
    assert (response.status_code, response["Location"]) == (303, "/")
    assert pair(a, b)[0] is None
    assert browser.post(f"{profile}/follow", {"follow": "1"}).status_code == 404
    response = browser.post(f"{profile}/block", {"block": "1", "next": profile}, headers=HTMX)
    assert response["HX-Redirect"] == "/settings/blocked"
    assert pair(a, b)[0] is Relation.BLACKLISTING


def test_the_button_needs_a_csrf_token(make_user) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    browser.handler.enforce_csrf_checks = True
    assert browser.post(f"/@{b.username}/follow", {"follow": "1"}).status_code == 403
    assert pair(a, b)[0] is None


# --- what stands between the two ----------------------------------------------------------------
SHOWN = {
    None: ("", "Follow"),
    Relation.FOLLOWING: ("", "Following"),
    Relation.FOLLOWED: ("Follows you", "Follow back"),
    Relation.BI_FOLLOWING: ("Friends", "Following"),
}


def state_of(page: str) -> tuple[str, str, bool]:
    """Return the words beside the name, the button's label, and whether there is a block menu."""
    words = re.search(r'data-testid="relation"[^>]*>(.*?)</span>(?:</span>)?', page)
    button = re.search(r"<button class=\"button[^>]*>\s*(.*?)<span", page)
    assert words
    assert button
    return re.sub("<.*?>", "", words[1]), button[1], 'data-testid="person-menu"' in page


@pytest.mark.parametrize("state", SHOWN)
def test_the_state_is_shown_both_ways(make_user, state) -> None:
    me, other = make_user(), make_user("Otherone")
    bring(me, other, state)
    browser = browser_of(me)
    for address in ("/@Otherone", "/search?q=otherone"):
        page = browser.get(address).content.decode()
        assert state_of(page[page.index("<main") :]) == (*SHOWN[state], True), address


def test_guests_are_led_to_log_in_and_nobody_blocks_oneself(make_user) -> None:
    me = make_user()
    for client in (Client(), browser_of(me)):
        page = client.get(f"/@{me.username}").content.decode()
        assert 'data-testid="block"' not in page
        assert 'data-testid="follow"' not in page
    guest = Client().get(f"/@{me.username}").content.decode()
    assert f'href="/login?next=/%40{me.username}"' in guest


def test_htmx_gets_the_words_beside_the_name_too(make_user) -> None:
    a, b = make_user(), make_user()
    actions.follow(b, a)
    response = browser_of(a).post(f"/@{b.username}/follow", {"follow": "1"}, headers=HTMX)
    text = response.content.decode()
    assert f'id="relation-{b.username}"' in text
    assert 'hx-swap-oob="true"' in text
    assert state_of(text) == ("Friends", "Following", True)


# --- block --------------------------------------------------------------------------------------
def test_block_and_unblock_return_to_where_they_were_pressed(make_user) -> None:
    a, b = make_user(), make_user()
    actions.follow(b, a)
    browser = browser_of(a)
    response = browser.post(f"/@{b.username.upper()}/block", {"block": "1"})
    assert (response.status_code, response["Location"]) == (303, f"/@{b.username}")
    assert pair(a, b) == (Relation.BLACKLISTING, Relation.BLACKLISTED)
    response = browser.post(f"/@{b.username}/block", {"block": "0", "next": "/search?q=x"})
    assert (response.status_code, response["Location"]) == (303, "/search?q=x")
    assert pair(a, b) == (None, None)


def test_a_blocked_profile_shows_the_name_and_the_unblock_button(make_user, make_post) -> None:
    me, other = make_user(), make_user("Otherone", nickname="昵称在此")
    accounts_actions.edit_profile(other, bio="words of theirs")
    make_post(other, content="a post of theirs")
    browser = browser_of(me)
    browser.post("/@Otherone/block", {"block": "1"})
    page = browser.get("/@Otherone").content.decode()
    assert "昵称在此" in page
    assert 'data-testid="unblock"' in page
    for hidden in ("of theirs", "/@Otherone/following", 'data-testid="person-menu"'):
        assert hidden not in page
    assert browser_of(other).get(f"/@{me.username}").status_code == 404
    for reader in (browser, browser_of(other)):
        found = reader.get(f"/search?q={'otherone' if reader is browser else me.username}")
        assert 'data-testid="person"' not in found.content.decode()


def test_htmx_gets_the_control_in_lists_and_a_new_page_on_the_profile(make_user) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    address = f"/@{b.username}/block"
    response = browser.post(address, {"block": "1", "next": "/search?q=x"}, headers=HTMX)
    text = response.content.decode()
    assert "<html" not in text
    assert state_of(text) == ("Blocked", "Unblock", False)
    assert 'name="next" value="/search?q=x"' in text
    response = browser.post(address, {"block": "0", "next": "/search?q=x"}, headers=HTMX)
    assert state_of(response.content.decode()) == ("", "Follow", True)
    for wanted in (f"/@{b.username.upper()}", ""):
        response = browser.post(address, {"block": "1", "next": wanted}, headers=HTMX)
        assert response["HX-Redirect"].lower() == f"/@{b.username}"
    assert pair(a, b)[0] is Relation.BLACKLISTING


@pytest.mark.parametrize("wanted", ["//[", "http://[::1"])
def test_an_address_to_return_to_that_cannot_be_parsed_is_ignored(make_user, wanted) -> None:
    a, b = make_user(), make_user()
    address = f"/@{b.username}/follow"
    response = browser_of(a).post(address, {"follow": "1", "next": wanted}, headers=HTMX)
    assert response.status_code == 200
    assert f'name="next" value="/@{b.username}"' in response.content.decode()


def test_with_mutual_blocks_the_profile_is_reached_by_the_list_of_blocks(make_user) -> None:
    a, b = make_user(), make_user()
    actions.block(b, a)
    browser = browser_of(a)
    profile = f"/@{b.username}"
    assert browser.get(profile).status_code == 404
    response = browser.post(f"{profile}/block", {"block": "1", "next": profile})
    assert (response.status_code, response["Location"]) == (303, "/settings/blocked")
    assert browser.get(profile).status_code == 404
    page = browser.get("/settings/blocked").content.decode()
    assert f"@{b.username}" in page
    assert f'href="{profile}"' not in page
    response = browser.post(f"{profile}/block", {"block": "0", "next": profile}, headers=HTMX)
    assert response["HX-Redirect"] == "/settings/blocked"
    assert pair(a, b) == (Relation.BLACKLISTED, Relation.BLACKLISTING)


def test_without_javascript_a_page_confirms_the_block(make_user) -> None:
    a, b = make_user(), make_user("Otherone")
    browser = browser_of(a)
    page = browser.get("/@otherone/block?next=/search%3Fq%3Dx").content.decode()
    assert "Block @Otherone?" in page
    assert 'name="next" value="/search?q=x"' in page
    assert 'name="block" value="1"' in page
    assert pair(a, b) == (None, None)
    assert 'href="/@Otherone"' in browser.get("/@Otherone/block?next=//evil").content.decode()
    actions.block(a, b)
    assert browser.get("/@Otherone/block")["Location"] == "/settings/blocked"


def test_an_error_of_a_block_shows_on_a_page(make_user) -> None:
    a, b = make_user(), make_user()
    browser = browser_of(a)
    for data in ({}, {"block": "2"}, {"block": ""}):
        assert browser.post(f"/@{b.username}/block", data).status_code == 400
    assert browser.post(f"/@{a.username}/block", {"block": "1"}).status_code == 400
    assert browser.get(f"/@{a.username}/block").status_code == 400
    for name in ("<b>", "x", "a%00bc"):
        assert browser.post(f"/@{name}/block", {"block": "1"}).status_code == 404
        assert browser.get(f"/@{name}/block").status_code == 404
    assert browser.put(f"/@{b.username}/block").status_code == 405
    assert Client().post(f"/@{b.username}/block", {"block": "1"}).status_code == 401
    response = Client().get(f"/@{b.username}/block")
    assert response["Location"].startswith("/login?next=")
    browser.handler.enforce_csrf_checks = True
    assert browser.post(f"/@{b.username}/block", {"block": "1"}).status_code == 403
    assert pair(a, b) == (None, None)


# --- the list of blocks -------------------------------------------------------------------------
def test_the_blocked_page_is_mine_newest_first_page_by_page(make_user) -> None:
    me, others = make_user(), [make_user() for _ in range(page_sizes.PAGE_SIZE + 1)]
    for other in others:
        actions.block(me, other)
    actions.block(make_user("Whoblocks"), me)
    browser = browser_of(me)
    page = browser.get("/settings/blocked").content.decode()
    rows = r'data-testid="person".*?<small>@(\w+)</small>'
    names = re.findall(rows, page, re.DOTALL)
    cursor = re.findall(r"cursor=([\w-]+)", page)[0]
    address = f"/settings/blocked?cursor={cursor}"
    rest = browser.get(address, headers=HTMX).content.decode()
    assert "<html" not in rest
    assert "<html" in browser.get(address).content.decode()
    names += re.findall(rows, rest, re.DOTALL)
    assert names == [other.username for other in reversed(others)]
    assert "Whoblocks" not in page + rest


def test_an_empty_blocked_page_has_a_text_and_guests_log_in(make_user) -> None:
    assert (
        "You have blocked nobody"
        in browser_of(make_user()).get("/settings/blocked").content.decode()
    )
    assert Client().get("/settings/blocked")["Location"] == "/login?next=%2Fsettings%2Fblocked"
    assert browser_of(make_user()).get("/settings/blocked?cursor=x").status_code == 400
    assert browser_of(make_user()).post("/settings/blocked").status_code == 405


def test_an_unblock_there_can_be_taken_back(make_user) -> None:
    a, b = make_user(), make_user()
    actions.block(a, b)
    actions.block(b, a)
    browser = browser_of(a)
    data = {"next": "/settings/blocked"}
    address = f"/@{b.username}/block"
    text = browser.post(address, data | {"block": "0"}, headers=HTMX).content.decode()
    assert state_of(text) == ("", "Block again", False)
    text = browser.post(address, data | {"block": "1"}, headers=HTMX).content.decode()
    assert state_of(text) == ("Blocked", "Unblock", False)
    assert browser.post(address, data | {"block": "0"})["Location"] == "/settings/blocked"


def test_somebody_with_a_hidden_profile_is_blocked_by_name(make_user) -> None:
    me, other = make_user("Myself01"), make_user("Otherone")
    actions.block(other, me)
    browser = browser_of(me)
    response = browser.get("/settings/blocked", {"username": " @otherONE "})
    assert response["Location"] == "/@otherONE/block?next=%2Fsettings%2Fblocked"
    page = browser.get(response["Location"]).content.decode()
    assert 'name="next" value="/settings/blocked"' in page
    for name, status in (("no", 404), ("<b>", 404), ("myself01", 400)):
        response = browser.get("/settings/blocked", {"username": name})
        assert response.status_code == status
        assert 'id="err-username"' in response.content.decode()
        assert "<b>" not in response.content.decode().split("<main")[1].split("</form>")[0]


def test_the_blocked_page_costs_the_same_queries_whatever_its_length(make_user) -> None:
    counts = []
    for length in (1, page_sizes.PAGE_SIZE):
        me = make_user()
        for _ in range(length):
            actions.block(me, make_user())
        browser = browser_of(me)
        browser.get("/settings/blocked")
        with CaptureQueriesContext(connection) as found:
            browser.get("/settings/blocked")
        counts.append(len(found))
    assert counts[0] == counts[1]
