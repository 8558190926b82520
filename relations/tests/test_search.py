"""Search within one's own lists: results, order, cost, and permission."""

import pytest
from django.db import connection
from django.db.models import Exists, OuterRef
from django.test import Client
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts import finding
from accounts.models import User
from relations import actions, queries
from relations.models import Relation, Relationship
from relations.tests.helpers import bring
from socialsite.core.positions import Position

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture
def me(make_user) -> User:
    return make_user("Myself01", nickname="我自己哦")


@pytest.fixture
def people(me, make_user) -> dict[str, User]:
    """People I follow, Anna first; Annika is a friend, Annabel a follower, Hannah neither."""
    found = {}
    for name, nickname, state in (
        ("Anna01", "Zoeone", Relation.FOLLOWING),
        ("Berta2", "安娜安娜", Relation.FOLLOWING),
        ("Annika", "Wombat", Relation.BI_FOLLOWING),
        ("Carla1", "annalena", Relation.FOLLOWING),
        ("Annabel", "Tulip", Relation.FOLLOWED),
        ("Hannah", "Rosetree", Relation.FOLLOWING),
    ):
        found[name] = make_user(name, nickname=nickname)
        bring(me, found[name], state)
    Relationship.objects.filter(from_user=me, followed_at__isnull=False).update(followed_at=5)
    for time, name in enumerate(("Anna01", "Berta2", "Annika", "Carla1", "Hannah"), 10):
        row = Relationship.objects.filter(from_user=me, to_user=found[name])
        row.update(followed_at=time)
    return found


def names(page) -> list[str]:
    return [person["username"] for person in page.items]


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("following", "ann", ["Carla1", "Annika", "Anna01"]),
        ("following", " @ANN ", ["Carla1", "Annika", "Anna01"]),
        ("following", " \uff20ANN ", ["Carla1", "Annika", "Anna01"]),
        ("following", "安娜", ["Berta2"]),
        ("following", "nna", []),
        ("following", "annab", []),
        ("following", "ann%", []),
        ("following", "a_na", []),
        ("following", "\x00", []),
        ("following", "@", []),
        ("friends", "ann", ["Annika"]),
        ("friends", "wom", ["Annika"]),
    ],
)
def test_the_beginning_of_a_name_is_found_in_the_order_of_the_list(
    me, people, kind, text, found
) -> None:
    assert names(queries.search_own(me.pk, kind, text)) == found


@pytest.mark.parametrize(
    ("nickname", "text"),
    [
        ("José Ñ", "jose n"),
        ("Jose", "JOSE\u0301"),
        ("ガイド", "\uff76\uff9e\uff72"),
        ("Straße", "STRASS"),
    ],
)
def test_names_are_compared_as_in_all_searches(
    me, make_user, settings, nickname: str, text: str
) -> None:
    settings.NAME_POLICY = "open"
    bring(me, make_user("Person1", nickname=nickname), Relation.FOLLOWING)
    assert names(queries.search_own(me.pk, "following", text)) == ["Person1"]
    accounts_actions.edit_profile(User.objects.get(username="Person1"), nickname="Other")
    assert names(queries.search_own(me.pk, "following", text)) == []


def test_people_followed_by_others_and_closed_accounts_are_not_found(me, people) -> None:
    assert names(queries.search_own(people["Annika"].pk, "following", "ann")) == []
    User.objects.filter(username="Annika").update(banned_at=timezone.now())
    User.objects.filter(username="Carla1").update(deleted_at=timezone.now())
    assert names(queries.search_own(me.pk, "following", "ann")) == ["Anna01"]
    actions.block(people["Anna01"], me)
    assert names(queries.search_own(me.pk, "following", "ann")) == []


def test_pages_of_a_search_list_everyone_once(me, people, django_assert_max_num_queries) -> None:
    found, cursor = [], None
    for more in (True, True, False):
        with django_assert_max_num_queries(3):
            page = queries.search_own(me.pk, "following", "ann", cursor, 1)
        found += names(page)
        assert (page.next is not None) == more
        cursor = Position.decode(page.next) if page.next else None
    assert found == ["Carla1", "Annika", "Anna01"]
    assert page.items[0]["relation"] == "FOLLOWING"


@pytest.mark.full
@pytest.mark.django_db(transaction=True)  # ANALYZE TABLE commits
@pytest.mark.skipif(connection.vendor != "mysql", reason="reads MariaDB's plan")
@pytest.mark.parametrize("text", ["u", "user1", "user1234", "nobody"])
def test_a_search_reads_no_more_than_my_rows_or_those_of_the_name(me, text) -> None:
    count, mine = 4000, 300
    User.objects.bulk_create(
        User(id=number, username=name, username_key=name, nickname=name, nickname_key=name)
        for number, name in ((1000 + number, f"user{number}") for number in range(count))
    )
    Relationship.objects.bulk_create(
        Relationship(
            from_user_id=owner,
            to_user_id=number,
            relation=Relation.FOLLOWING,
            followed_at=number,
        )
        for owner in (me.pk, 7)
        for number in range(1000, 1000 + mine)
    )
    with connection.cursor() as database:
        database.execute("ANALYZE TABLE relations_relationship, accounts_user")
        named = finding.named(text).filter(pk=OuterRef("to_user"))
        rows = queries.SEARCHED["following"](me.pk).filter(Exists(named))
        sql, values = queries.page_rows(rows, "followed_at", None)[:21].query.sql_with_params()
        database.execute("EXPLAIN " + sql, values)
        columns = [column[0] for column in database.description]
        plan = [dict(zip(columns, row, strict=True)) for row in database.fetchall()]
    read = 1
    for step in plan:
        assert step["type"] not in ("ALL", "index"), plan
        read *= int(step["rows"])
    assert read <= mine, plan


# --- pages --------------------------------------------------------------------------------------
def shown(response) -> list[str]:
    """Return the usernames on a page."""
    assert response.status_code == 200
    parts = response.content.decode().split('data-testid="person"')[1:]
    return [part.split("<small>@")[1].split("<")[0] for part in parts]


@pytest.mark.parametrize("kind", ["following", "friends"])
def test_a_search_field_stands_on_my_own_lists_alone(me, people, browser, kind) -> None:
    field = 'data-testid="search-own"'
    assert field in browser.get(f"/@Myself01/{kind}").content.decode()
    assert field not in Client().get(f"/@Myself01/{kind}").content.decode()
    assert field not in browser.get(f"/@Annika/{kind}").content.decode()
    assert field not in browser.get("/@Myself01/followers").content.decode()


def test_a_search_works_as_a_plain_page(me, people, browser) -> None:
    address = "/@Myself01/following"
    page = browser.get(address, {"q": " ann "})
    assert shown(page) == ["Carla1", "Annika", "Anna01"]
    assert 'value="ann"' in page.content.decode()
    nobody = browser.get(address, {"q": '"><hr>'}).content.decode()
    assert "Nobody found" in nobody
    assert 'data-testid="search-own"' in nobody
    assert "<hr>" not in nobody
    for empty in ({"q": " "}, {}):
        assert len(shown(browser.get(address, empty))) == 5
    assert len(shown(Client().get(address, {"q": "ann"}))) == 5
    assert shown(browser.get("/@Myself01/followers", {"q": "zzz"})) == ["Annabel", "Annika"]


def test_htmx_gets_only_the_results_and_further_pages_repeat_the_search(
    me, people, browser, make_user
) -> None:
    for number in range(20):
        actions.follow(me, make_user(f"annb{number}"))
    address = "/@Myself01/following"
    headers = {"HX-Request": "true", "HX-Target": "results"}
    first = browser.get(address, {"q": "ann"}, headers=headers)
    text = first.content.decode()
    assert "<html" not in text
    assert text.strip().startswith('<div id="results">')
    assert "People found: 20+" in text
    names = shown(first)
    link = text.split('data-testid="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    assert link.startswith("?q=ann&amp;cursor=")
    rest = browser.get(address + link.replace("&amp;", "&"), headers={"HX-Request": "true"})
    assert "<div id" not in rest.content.decode()
    names += shown(rest)
    assert len(names) == len(set(names)) == 23
    none = browser.get(address, {"q": "zzz"}, headers=headers).content.decode()
    assert "Nobody found" in none
    assert "People found: 0<" in none


# --- API ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "count"), [("following", 3), ("friends", 1)])
def test_the_api_searches_my_own_lists(me, people, api_for, kind, count) -> None:
    base = f"/api/v1/users/{me.pk}/{kind}"
    client = api_for(me)
    found = client.get(base + "?q=Ann&size=1").json()
    rest = client.get(base + f"?q=Ann&cursor={found['next']}").json() if found["next"] else None
    assert len(found["items"] + (rest["items"] if rest else [])) == count
    whole = client.get(base).json()
    assert client.get(base + "?q=%20").json() == whole
    assert len(whole["items"]) > count or kind == "friends"


def test_lists_of_others_and_followers_cannot_be_searched(me, people, api_for, api) -> None:
    client = api_for(me)
    for response in (
        client.get(f"/api/v1/users/{people['Annika'].pk}/following?q=a"),
        client.get(f"/api/v1/users/{me.pk}/followers?q=a"),
        api.get(f"/api/v1/users/{me.pk}/following?q=a"),
    ):
        assert response.status_code == 400
        assert (response.json()["code"], list(response.json()["fields"])) == (13, ["q"])
    assert api.get(f"/api/v1/users/{me.pk}/following?q=").status_code == 200


def test_the_openapi_document_shows_which_lists_accept_a_search() -> None:
    from drf_spectacular.generators import SchemaGenerator

    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    for kind, taken in (("following", True), ("friends", True), ("followers", False)):
        operation = paths[f"/api/v1/users/{{user_id}}/{kind}"]["get"]
        assert ("q" in [item["name"] for item in operation["parameters"]]) is taken
