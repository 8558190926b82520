"""A person hidden from me looks like an unknown name: the pages answer identically.

Hidden are people who block me, are banned, or closed their account. I can still block and unblock
them.
"""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from relations import actions, queries
from relations.models import Relation, Relationship
from socialsite.core import redis
from socialsite.core.ids import MAX_ID

pytestmark = [pytest.mark.once, pytest.mark.django_db]

HTMX = {"HX-Request": "true"}
NOBODY = "nobody01"
# The fields that identify a person, and no relation between them and me.
BARE = {"id": "", "username": "", "nickname": "", "relation": ""}
HIDDEN = {"blocking": "blocks01", "banned": "banned01", "closed": "closed01"}
NEXT = ("", "/@{name}", "/@{name}/following", "/search?q=x", "/settings/blocked", "//evil")


@pytest.fixture
def me(make_user: Any) -> User:
    return make_user("Myself01")


@pytest.fixture
def people(me: User, make_user: Any) -> dict[str, User]:
    """Create one person of each kind that is hidden from me."""
    found = {kind: make_user(name) for kind, name in HIDDEN.items()}
    actions.block(found["blocking"], me)
    accounts_actions.ban(found["banned"])
    User.objects.filter(pk=found["closed"].pk).update(deleted_at=timezone.now())
    return found


def requests_about(name: str) -> list[tuple[str, str, dict[str, str], dict[str, str]]]:
    """Return method, URL, fields and headers of every request about a name."""
    page = f"/@{name}"
    found: list[tuple[str, str, dict[str, str], dict[str, str]]] = [
        ("get", page + end, {}, headers)
        for end in ("", "/following", "/followers", "/friends", "/block")
        for headers in ({}, HTMX)
    ]
    for typed in (name, f"@{name}", f"\uff20{name}"):
        found.append(("get", "/settings/blocked", {"username": typed}, {}))
    found += [("get", "/search", {"q": name}, {}), ("post", f"{page}/block", {"block": "2"}, {})]
    found += [("post", f"{page}/follow", {"follow": value}, {}) for value in "01"]
    for headers in ({}, HTMX):
        for wanted in NEXT:
            back = {"next": wanted.format(name=name)}
            found.append(("get", f"{page}/block", back, headers))
            found += [
                ("post", f"{page}/block", {**back, "block": value}, headers) for value in "01"
            ]
    return found


def answer(browser: Client, name: str, request: tuple[str, str, Any, Any]) -> tuple[Any, ...]:
    """Return status, headers and text of a response, without the name and random values."""
    method, address, data, headers = request
    found = getattr(browser, method)(address, data, headers=headers)
    text = re.sub(r"[A-Za-z0-9]{64}", "token", found.content.decode())
    headers = sorted(
        (key, value)
        for key, value in found.headers.items()
        if key not in ("Content-Length", "X-Request-ID")
    )
    return found.status_code, str(headers).replace(name, "NAME"), text.replace(name, "NAME")


@pytest.mark.parametrize("kind", HIDDEN)
def test_somebody_hidden_is_answered_for_as_nobody(
    kind: str, me: User, people: dict[str, User]
) -> None:
    browser = browser_of(me)
    for mine, theirs in zip(requests_about(HIDDEN[kind]), requests_about(NOBODY), strict=True):
        assert answer(browser, HIDDEN[kind], mine) == answer(browser, NOBODY, theirs), mine
        # Each request starts in the same state.
        actions.unblock(me, people[kind])
    assert not Relationship.objects.filter(from_user=me, relation=Relation.FOLLOWING).exists()


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_follow_finds_nobody_where_they_became_hidden_meanwhile(
    kind: str, me: User, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relations.views._Named.is_hidden", False)
    browser = browser_of(me)
    request: tuple[Any, ...] = ("post", "/@{}/follow", {"follow": "1"}, {})
    mine, theirs = (
        answer(browser, name, (request[0], request[1].format(name), *request[2:]))
        for name in (HIDDEN[kind], NOBODY)
    )
    assert mine == theirs
    assert mine[0] == 404


def test_blocked_people_get_the_same_response_for_any_reason_of_hiding(
    me: User, people: dict[str, User]
) -> None:
    browser = browser_of(me)
    found: dict[str, list[Any]] = {}
    for kind, person in people.items():
        found[kind] = []
        redis.call(lambda connection: connection.flushdb())  # resets budgets
        for request in requests_about(HIDDEN[kind]):
            actions.block(me, person)
            found[kind].append(answer(browser, HIDDEN[kind], request))
        actions.unblock(me, person)
    assert found["blocking"] == found["banned"] == found["closed"]


def test_somebody_hidden_can_be_blocked_listed_and_unblocked(
    me: User, people: dict[str, User]
) -> None:
    browser = browser_of(me)
    for kind in people:
        typed = HIDDEN[kind].upper()
        asked = browser.get("/settings/blocked", {"username": f" @{typed} "}, follow=True)
        assert f"Block @{typed}?" in asked.content.decode()
        for headers in ({}, HTMX):
            data = {"block": "1", "next": "/settings/blocked"}
            browser.post(f"/@{typed}/block", data, headers=headers)
            listed = browser.get("/settings/blocked").content.decode()
            assert f"@{HIDDEN[kind]}" in listed
            assert f'href="/@{HIDDEN[kind]}"' not in listed
            browser.post(f"/@{HIDDEN[kind]}/block", data | {"block": "0"}, headers=headers)
            assert f"@{HIDDEN[kind]}" not in browser.get("/settings/blocked").content.decode()
    state = queries.relation(me.pk, people["blocking"].pk)
    assert state is Relation.BLACKLISTED


def test_the_page_of_my_blocks_does_not_reveal_my_blockers(
    me: User, people: dict[str, User], make_user: Any
) -> None:
    browser, found = browser_of(me), set()
    for person in (*people.values(), make_user("shown001")):
        actions.block(me, person)
        page = browser.get("/settings/blocked").content.decode()
        row = re.search(r'<li class="person".*?</li>', page, re.S)
        assert row is not None
        drawn = re.sub(r"(?s)[A-Za-z0-9]{64}|avatar-\d.*?</span>", "", row[0])
        found.add(drawn.replace(person.username, "NAME").replace(person.nickname, "Nick"))
        actions.unblock(me, person)
    assert len(found) == 1


def test_the_api_s_list_of_my_blocks_shows_only_the_relation(
    me: User, people: dict[str, User], make_user: Any, api_for: Any
) -> None:
    for person in (*people.values(), make_user("shown001")):
        actions.block(me, person)
    found = api_for(me).get("/api/v1/users/me/blocked").json()["items"]
    assert {person["username"]: person["relation"] for person in found} == {
        **dict.fromkeys((HIDDEN["banned"], HIDDEN["closed"], "shown001"), "BLACKLISTING"),
        HIDDEN["blocking"]: "BI_BLACKLISTING",
    }
    assert len({str({**person, **BARE}) for person in found}) == 1


def test_only_the_relation_of_the_two_reveals_my_blockers(
    me: User, people: dict[str, User], make_user: Any, api_for: Any
) -> None:
    """The API URLs that reveal it, compared with their answers about everybody else (A31, T24)."""
    ids = {kind: person.pk for kind, person in people.items()}
    ids |= {"shown": make_user("shown001").pk, "nobody": MAX_ID}
    client = api_for(me)
    asked = ",".join(str(ident) for ident in ids.values())
    relations = client.get(f"/api/v1/relations?ids={asked}").json()["items"]
    assert [item["relation"] for item in relations] == ["BLACKLISTED", None, None, None, None]
    followed = {
        kind: client.post(f"/api/v1/users/{ident}/follow").json().get("code")
        for kind, ident in ids.items()
    }
    assert followed == {"blocking": 9, "banned": 3, "closed": 1, "shown": None, "nobody": 1}


def test_a_name_that_nobody_has_can_be_blocked_to_no_effect(me: User) -> None:
    browser = browser_of(me)
    reply = browser.post(f"/@{NOBODY}/block", {"block": "1"})
    assert (reply.status_code, reply["Location"]) == (303, "/settings/blocked")
    assert browser.post(f"/@{NOBODY}/block", {"block": "0"}).status_code == 404
    assert not Relationship.objects.exists()
    assert NOBODY not in browser.get("/settings/blocked").content.decode()
