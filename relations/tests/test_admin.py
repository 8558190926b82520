"""The admin of relations: read-only, search by person, history of a pair, constant query count."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions as accounts_actions
from accounts.models import Role, User
from accounts.tests.browsers import browser_of
from relations import actions, admin
from relations.models import Relation, RelationLog, Relationship
from relations.tests.helpers import pair, stored

pytestmark = pytest.mark.django_db

BASE = "/admin/relations"


@pytest.fixture
def staff(make_user) -> Client:
    """A browser in which an admin is signed in."""
    return browser_of(accounts_actions.promote(make_user("Chief001"), Role.MEMBER | Role.ADMIN))


@pytest.fixture
def people(make_user) -> tuple[User, User]:
    return make_user("Anna01"), make_user("Berta2")


def rows(response) -> list[str]:
    """Return the rows of a list, without markup."""
    assert response.status_code == 200
    table = re.search(r'<table id="result_list">.*?</table>', response.content.decode(), re.DOTALL)
    found = re.findall(r"<tr>(.*?)</tr>", table[0], re.DOTALL) if table else []
    return [" ".join(re.sub("<.*?>", " ", line).split()) for line in found[1:]]


@pytest.mark.parametrize("model", ["relationship", "relationlog", "relationcount"])
def test_the_admin_shows_relations_and_changes_none(staff, people, model) -> None:
    a, b = people
    actions.follow(a, b)
    base = f"{BASE}/{model}/"
    found = {"relationship": stored(a, b), "relationlog": RelationLog.objects.get()}.get(model, a)
    assert staff.get(base).status_code == 200
    assert staff.get(f"{base}{found.pk}/change/").status_code == 200
    assert staff.get(f"{base}{found.pk}/history/").status_code == 200
    assert staff.get(base + "add/").status_code == 403
    assert staff.post(f"{base}{found.pk}/change/", {}).status_code == 403
    assert staff.post(f"{base}{found.pk}/delete/", {"post": "yes"}).status_code == 403
    assert pair(a, b)[0] is Relation.FOLLOWING


def test_members_see_none_of_it(people) -> None:
    actions.follow(*people)
    response = browser_of(people[0]).get(f"{BASE}/relationship/")
    assert response.status_code in (302, 403)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("anna01", 2),
        ("@ANNA01", 2),
        ("\uff20anna01", 2),
        ("Anna01 Berta2", 1),
        ("Carla1 Berta2", 0),
        ("nobody99", 0),
        ("nna", 0),
        ("anna01 berta2 Carla1", 0),
        ("-1", 0),
        ("9" * 30, 0),
        ("' OR 1=1 --", 0),
        ("", 4),
    ],
)
def test_pairs_are_found_by_their_people(staff, people, make_user, text, count) -> None:
    a, b = people
    actions.follow(a, b)
    actions.block(make_user("Carla1"), a)
    assert len(rows(staff.get(f"{BASE}/relationship/", {"q": text}))) == count


def test_ids_find_people_too_and_counts_and_lines_have_the_same_search(staff, people) -> None:
    a, b = people
    actions.follow(a, b)
    assert len(rows(staff.get(f"{BASE}/relationship/?q={a.pk}"))) == 1
    assert len(rows(staff.get(f"{BASE}/relationlog/?q={a.pk} berta2"))) == 1
    assert rows(staff.get(f"{BASE}/relationlog/?q=berta2")) == []
    assert len(rows(staff.get(f"{BASE}/relationcount/?q=anna01"))) == 1


def test_a_pair_has_its_history_newest_first_from_both_sides(staff, people) -> None:
    a, b = people
    actions.follow(a, b)
    actions.follow(b, a)
    actions.block(a, b)
    for owner, other in (people, people[::-1]):
        address = f"{BASE}/relationship/{stored(owner, other).pk}/change/"
        page = staff.get(address).content.decode()
        history = page[page.index("field-history") :]
        lines = re.findall(r"<tr>(.*?)</tr>", history, re.DOTALL)
        texts = [re.sub(r"\s*<.*?>\s*", "|", line).strip("|").split("||") for line in lines]
        assert [(line[0], *line[2:]) for line in texts] == [
            ("3", "@Anna01", "block", "@Berta2", "BI_FOLLOWING → BLACKLISTING"),
            ("2", "@Berta2", "follow", "@Anna01", "FOLLOWED → BI_FOLLOWING"),
            ("1", "@Anna01", "follow", "@Berta2", "none → FOLLOWING"),
        ]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", texts[0][1])


def test_the_history_is_that_of_the_pair_alone_and_bounded(
    staff, people, make_user, monkeypatch
) -> None:
    a, b = people
    actions.follow(a, b)
    actions.follow(a, make_user("Carla1"))
    address = f"{BASE}/relationship/{stored(a, b).pk}/change/"
    page = staff.get(address).content.decode()
    assert "Carla1" not in page
    assert "Only the latest" not in page
    monkeypatch.setattr(admin, "HISTORY", 2)
    actions.unfollow(a, b)
    actions.follow(a, b)
    page = staff.get(address).content.decode()
    assert "Only the latest 2 are shown." in page
    assert page.count(" → ") == 2


def test_a_pair_without_a_transition_has_an_empty_history(staff, people) -> None:
    found = Relationship.objects.create(from_user=people[0], to_user=people[1])
    assert staff.get(f"{BASE}/relationship/{found.pk}/change/").status_code == 200


@pytest.mark.parametrize("model", ["relationship", "relationlog", "relationcount"])
def test_a_list_costs_the_same_queries_whatever_its_length(
    staff, people, make_user, drain, model
) -> None:
    counts = []
    for more in (1, 10):
        for _ in range(more):
            actions.follow(people[0], make_user())
        drain()
        staff.get(f"{BASE}/{model}/?q=anna01")
        with CaptureQueriesContext(connection) as found:
            staff.get(f"{BASE}/{model}/?q=anna01")
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_a_pair_costs_the_same_queries_whatever_its_history(staff, people) -> None:
    a, b = people
    actions.follow(a, b)
    address = f"{BASE}/relationship/{stored(a, b).pk}/change/"
    counts = []
    for _ in range(2):
        staff.get(address)
        with CaptureQueriesContext(connection) as found:
            staff.get(address)
        counts.append(len(found))
        for act in (actions.unfollow, actions.follow) * 5:
            act(a, b)
    assert counts[0] == counts[1]
    assert not [query for query in found if " LIKE " in query["sql"].upper()]
