"""People by any part of a name: exact at once, by pages, and without those who are hidden."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts import finding
from accounts.models import NameTerm, SearchedName, User
from accounts.naming import search
from relations import actions as relations_actions
from relations import queries as relations_queries
from socialsite.core.positions import Position

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
Make = Callable[..., Any]


def found(text: str, viewer: User | None = None, size: int = 2) -> list[str]:
    """Return the usernames of everybody who is found, in order, by pages."""
    names, cursor = [], None
    while True:
        reader: Any = viewer or User()
        page = relations_queries.search_people(reader, text, cursor, size)
        names += [person["username"] for person in page.items]
        if page.next is None:
            return names
        cursor = Position.decode(page.next)


@pytest.fixture
def people(make_user: Make) -> dict[str, User]:
    """People, the oldest account first."""
    names = {"Hannah1": "Rosetree", "Anna01": "王小明王", "Carla2": "小小王子", "Berta3": "Annabel"}
    return {name: make_user(name, nickname=nickname) for name, nickname in names.items()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ann", ["Berta3", "Anna01", "Hannah1"]),
        (" @ANN ", ["Berta3", "Anna01", "Hannah1"]),
        ("\uff20ann", ["Berta3", "Anna01", "Hannah1"]),
        ("\uff21nn", ["Berta3", "Anna01", "Hannah1"]),
        ("nna", ["Berta3", "Anna01", "Hannah1"]),
        ("annah", ["Hannah1"]),
        ("tree", ["Hannah1"]),
        ("小", ["Carla2", "Anna01"]),
        ("王", ["Carla2", "Anna01"]),
        ("小明", ["Anna01"]),
        ("王子", ["Carla2"]),
        ("明小", []),
        ("an", ["Berta3", "Anna01", "Hannah1"]),
        ("a1", []),
        ("3", ["Berta3"]),
        ("x", []),
        ("a%", []),
        ("_", []),
        ("@", []),
        ("\x00", []),
    ],
)
def test_any_part_of_a_name_finds_people(
    people: dict[str, User], text: str, names: list[str]
) -> None:
    assert found(text) == names


@pytest.mark.parametrize("size", [1, 2, 20])
def test_the_person_of_a_username_comes_first_and_only_once(
    people: dict[str, User], make_user: Make, size: int
) -> None:
    """Also if others who have the text in their names have newer accounts."""
    for name in ("Hannah12", "XHANNAH1", "Joanne0"):
        make_user(name, nickname="Hannah1")
    assert found("@hannah1", size=size) == ["Hannah1", "Joanne0", "XHANNAH1", "Hannah12"]
    assert found("HANNAH12", size=size) == ["Hannah12"]
    me = make_user("Myself")
    relations_actions.block(me, people["Hannah1"])
    assert found("Hannah1", me, size=size) == ["Joanne0", "XHANNAH1", "Hannah12"]
    accounts_actions.ban(people["Hannah1"])
    assert found("Hannah1", size=size) == ["Joanne0", "XHANNAH1", "Hannah12"]


@pytest.mark.parametrize(
    ("nickname", "texts"),
    [
        ("Анатолий", ["ТОЛИИ\u0306", "анатолии\u0306"]),
        ("ガイドさん", ["\uff76\uff9e\uff72\uff84\uff9e"]),
        ("한글이름", ["\u1112\u1161\u11ab"]),
        ("José", ["jose", "JOSE\u0301", "os\u00e9"]),
    ],
)
def test_equal_names_are_found(
    make_user: Make, settings: Any, nickname: str, texts: list[str]
) -> None:
    settings.NAME_POLICY = "open"
    make_user("Somebody", nickname=nickname)
    for text in texts:
        assert found(text) == ["Somebody"]


def test_a_new_name_is_found_and_the_old_one_is_not_at_once(people: dict[str, User]) -> None:
    accounts_actions.edit_profile(people["Carla2"], nickname="Tulip")
    assert found("uli") == ["Carla2"]
    assert found("王子") == []


def test_hidden_and_banned_people_are_not_found_at_once(
    people: dict[str, User], make_user: Make
) -> None:
    me = make_user("Myself")
    relations_actions.block(people["Anna01"], me)
    assert found("nna", me) == ["Berta3", "Hannah1"]
    accounts_actions.ban(people["Hannah1"])
    assert found("nna", me) == ["Berta3"]
    assert found("nna") == ["Berta3", "Anna01"]


def test_a_rebuild_finds_lost_and_wrong_names(people: dict[str, User]) -> None:
    ids = sorted(one.pk for one in people.values())
    NameTerm.objects.filter(object_id=ids[0]).delete()
    SearchedName.objects.filter(pk=ids[1]).delete()
    assert found("ann") == ["Berta3", "Anna01"]
    assert search.rebuild(0) == (ids, 2)
    assert search.rebuild(0) == (ids, 0)
    assert found("ann") == ["Berta3", "Anna01", "Hannah1"]


def test_a_page_reads_a_bounded_part_of_the_index(
    people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "BLOCK", 1)
    monkeypatch.setattr(search, "GROWTH", 1)
    monkeypatch.setattr(finding, "SEARCHED", 2)
    for one in (people["Berta3"], people["Anna01"]):
        accounts_actions.ban(one)
    page = finding.people("ann", None, 2)
    assert page.items == []
    assert page.next is not None
    assert found("ann") == ["Hannah1"]
