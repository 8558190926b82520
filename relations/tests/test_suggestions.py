"""Suggestions: people whom the reader could follow now, best first."""

import contextlib
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from accounts.tests.browsers import browser_of
from relations import actions
from relations import queries as relations_queries
from relations.counters import counts
from relations.models import Dismissal, Relation, RelationCount, SuggestionList
from relations.suggestions import actions as suggestion_actions
from relations.suggestions import candidates, queries, wording
from socialsite.core import db
from socialsite.core.errors import Blacklisted
from socialsite.core.positions import Position

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]
V1 = "/api/v1/"


@pytest.fixture
def people(make_user: Make) -> list[User]:
    """Return six people without relations."""
    return [make_user() for _ in range(6)]


def follow(one: User, *others: User) -> None:
    for other in others:
        actions.follow(one, other)


def expire() -> None:
    """Let the kept lists be too old."""
    SuggestionList.objects.update(computed_at=0)


def suggested(reader: User, size: int = 20) -> list[int]:
    return [int(person["id"]) for person in queries.suggested(reader, None, size).items]


def reasons(reader: User) -> dict[int, tuple[str, int]]:
    found = queries.suggested(reader, None, 20).items
    return {int(one["id"]): (one["reason"]["kind"], one["reason"]["count"]) for one in found}


# --- order and reasons --------------------------------------------------------------------------
def test_people_whom_more_of_my_follows_follow_come_first(people: list[User]) -> None:
    me, a, b, c, x, y = people
    follow(me, a, b, c)
    follow(a, y)
    for friend in (a, b, c):
        follow(friend, x)
    assert suggested(me)[:2] == [x.pk, y.pk]
    assert reasons(me)[x.pk] == ("followed", 3)
    first = queries.suggested(me, None, 1).items[0]["reason"]["common"]
    assert [int(user["id"]) for user in first] == sorted([a.pk, b.pk, c.pk])


def test_people_who_were_not_here_for_long_come_later(people: list[User]) -> None:
    me, a, b, _c, x, y = people
    follow(me, a, b)
    follow(a, x, y)
    follow(b, x)
    User.objects.filter(pk=x.pk).update(last_seen=timezone.now() - timedelta(days=90))
    assert suggested(me)[:2] == [y.pk, x.pk]


def test_without_follows_the_people_with_most_followers_are_suggested(
    people: list[User], drain: Callable[[], None]
) -> None:
    me, a, b, c, x, _y = people
    follow(a, x)
    follow(b, x)
    follow(b, c)
    drain()
    assert suggested(me) == [x.pk, c.pk]
    assert reasons(me) == {x.pk: ("popular", 0), c.pk: ("popular", 0)}


# --- at once ------------------------------------------------------------------------------------
def test_what_changes_after_the_list_was_computed_shows_at_once(people: list[User]) -> None:
    me, a, b, followed, blocked, banned = people
    follow(me, a, b)
    for one in (followed, blocked, banned):
        follow(a, one)
        follow(b, one)
    assert set(suggested(me)) == {followed.pk, blocked.pk, banned.pk}
    actions.follow(me, followed)
    actions.block(blocked, me)
    accounts_actions.ban(banned)
    assert suggested(me) == []
    actions.unfollow(me, followed)
    actions.unblock(blocked, me)
    accounts_actions.unban(banned)
    assert set(suggested(me)) == {followed.pk, blocked.pk, banned.pk}


def test_the_reason_is_that_of_the_present(people: list[User]) -> None:
    me, a, b, x, *_ = people
    follow(me, a, b)
    follow(a, x)
    follow(b, x)
    assert reasons(me)[x.pk] == ("followed", 2)
    actions.unfollow(me, a)
    assert reasons(me)[x.pk] == ("followed", 1)
    actions.unfollow(b, x)
    assert reasons(me)[x.pk] == ("popular", 0)


def test_somebody_blocked_learns_nothing_of_the_blocker_from_reasons(people: list[User]) -> None:
    me, a, b, x, *_ = people
    follow(me, a, b)
    follow(a, x)
    follow(b, x)
    suggested(me)
    actions.block(a, me)
    assert reasons(me)[x.pk] == ("followed", 1)


def test_who_is_not_interesting_is_never_suggested_again(people: list[User]) -> None:
    me, a, _b, x, *_ = people
    follow(me, a)
    follow(a, x)
    assert suggested(me) == [x.pk]
    suggestion_actions.dismiss(me, x.pk)
    suggestion_actions.dismiss(me, x.pk)
    assert suggested(me) == []
    expire()
    assert suggested(me) == []
    follow(people[4], a)
    assert suggested(people[4]) == [x.pk]  # for others nothing changes


# --- lists --------------------------------------------------------------------------------------
def test_a_list_is_computed_once_a_day(people: list[User], django_assert_num_queries: Any) -> None:
    me, a, _b, x, y, _z = people
    follow(me, a)
    follow(a, x)
    assert candidates.of(me.pk) == [x.pk]
    follow(a, y)
    with django_assert_num_queries(2 if connection.vendor == "mysql" else 1):  # with the time
        assert candidates.of(me.pk) == [x.pk]
    expire()
    assert set(candidates.of(me.pk)) == {x.pk, y.pk}


def test_first_follows_show_at_once(people: list[User]) -> None:
    me, a, _b, x, *_ = people
    follow(a, x)
    assert suggested(me) == []
    follow(me, a)
    assert suggested(me) == [x.pk]


def test_a_young_site_shows_whom_many_follow_at_once(
    people: list[User], make_user: Make, drain: Callable[[], None]
) -> None:
    _me, a, b, *_ = people
    reader = make_user()
    follow(b, a)
    drain()
    assert suggested(reader) == [a.pk]
    follow(a, b)
    drain()
    with mock.patch.object(candidates, "FEW_PEOPLE", 1):  # then once a day is enough
        assert suggested(reader) == [a.pk]
    assert set(suggested(reader)) == {a.pk, b.pk}


def test_reading_an_empty_list_again_writes_nothing(people: list[User]) -> None:
    assert suggested(people[0]) == []
    with CaptureQueriesContext(connection) as found:
        assert suggested(people[0]) == []
    assert not [one for one in found if not one["sql"].lstrip("( ").startswith("SELECT")]


def test_who_follows_everybody_costs_few_queries(
    people: list[User],
    make_user: Make,
    drain: Callable[[], None],
    django_assert_max_num_queries: Any,
) -> None:
    me, *others = people
    follow(me, *others, *[make_user() for _ in range(20)])
    drain()
    suggested(me)
    with django_assert_max_num_queries(12):
        assert queries.suggested(me, None, 3).items == []


def test_the_nightly_task_refreshes_lists_and_forgets_idle_people(people: list[User]) -> None:
    me, idle, a, x, *_ = people
    for reader in (me, idle):
        follow(reader, a)
        candidates.of(reader.pk)
    follow(a, x)
    User.objects.filter(pk=idle.pk).update(last_seen=timezone.now() - timedelta(days=60))
    assert candidates.refresh_old() == 0
    expire()
    assert candidates.refresh_old() == 2
    kept = dict(SuggestionList.objects.values_list("user_id", "candidates"))
    assert kept == {me.pk: [x.pk]}


def test_pages_cover_everybody_once(people: list[User], make_user: Make) -> None:
    me, a, *others = people
    follow(me, a)
    follow(a, *others, *[make_user() for _ in range(7)])
    found, cursor = [], None
    while True:
        page = queries.suggested(me, cursor, 3)
        found += [one["id"] for one in page.items]
        if page.next is None:
            break
        cursor = Position.decode(page.next)
    assert len(found) == len(set(found)) == 11


# --- API and pages ------------------------------------------------------------------------------
def test_the_api_lists_and_dismisses(people: list[User], api_for: Make, api: APIClient) -> None:
    me, a, _b, x, *_ = people
    follow(me, a)
    follow(a, x)
    mine = api_for(me)
    answer = mine.get(V1 + "users/suggested")
    assert answer.status_code == 200
    [item] = answer.json()["items"]
    assert (item["id"], item["relation"]) == (str(x.pk), None)
    assert item["reason"]["kind"] == "followed"
    assert [user["id"] for user in item["reason"]["common"]] == [str(a.pk)]
    assert item["reason"]["users"] == item["reason"]["common"]  # the older name
    assert mine.delete(V1 + f"users/suggested/{x.pk}").status_code == 204
    assert mine.get(V1 + "users/suggested").json() == {"items": [], "next": None}
    assert mine.delete(V1 + "users/suggested/17").status_code == 204
    assert not Dismissal.objects.filter(other_id=17).exists()
    assert mine.delete(V1 + "users/suggested/x").status_code == 400
    assert api.get(V1 + "users/suggested").status_code == 401


def test_the_page_shows_reasons_and_dismisses(people: list[User]) -> None:
    me, a, b, x, y, _z = people
    follow(me, a, b)
    for friend in (a, b):
        follow(friend, x, y)
    browser = browser_of(me)
    page = browser.get("/suggestions").content.decode()
    assert page.count('data-testid="suggestion"') == 2
    assert f"Followed by {a.nickname} and {b.nickname}" in page
    answer = browser.post(f"/suggestions/{x.pk}/dismiss", {"next": "/suggestions"})
    assert (answer.status_code, answer["Location"]) == (303, "/suggestions")
    htmx = {"HX-Request": "true", "HX-Target": "suggestions"}
    panel = browser.get("/suggestions", headers=htmx)
    text = panel.content.decode()
    assert "<html" not in text
    assert (x.username in text, y.username in text) == (False, True)


def test_guests_are_asked_to_log_in(client: Any) -> None:
    answer = client.get("/suggestions")
    assert answer.status_code in (302, 303, 401)


@pytest.mark.parametrize("name", ["following", "friends", "block", "replies", "suggested"])
def test_every_username_is_found_by_name(make_user: Make, api: APIClient, name: str) -> None:
    person = make_user(name)
    answer = api.get(V1 + f"users/by-name/{name}")
    assert (answer.status_code, answer.json()["id"]) == (200, str(person.pk))


@pytest.mark.once
@pytest.mark.parametrize(
    ("names", "count", "text"),
    [
        ([], 0, "Popular here"),
        (["Ann"], 1, "Followed by Ann"),
        (["Ann", "Bo"], 2, "Followed by Ann and Bo"),
        (["Ann", "Bo", "Cy"], 3, "Followed by Ann and 2 more"),
        (["Ann", "Bo", "Cy"], 9, "Followed by Ann and 8 more"),
    ],
)
def test_the_reason_in_words(names: list[str], count: int, text: str) -> None:
    common: Any = [{"nickname": name, "username": "x"} for name in names]
    reason: Any = {"kind": "followed" if names else "popular", "common": common, "count": count}
    assert wording.sentence(reason) == text


# --- an oracle ----------------------------------------------------------------------------------
class TestAnyRelations(TestCase):
    """Whatever the relations are, the suggestions are those of a slow, obvious definition."""

    PEOPLE = 5
    PAIRS = tuple(itertools.permutations(range(PEOPLE), 2))

    @given(
        st.lists(
            st.tuples(st.sampled_from(PAIRS), st.sampled_from(("follow", "block"))), max_size=14
        ),
        st.sets(st.integers(1, PEOPLE - 1), max_size=2),
    )
    def test_any(self, acts: list[tuple[tuple[int, int], str]], dismissed: set[int]) -> None:
        people = [
            accounts_actions.register(f"person{number}", f"Nick{number}", "right.pass1")
            for number in range(self.PEOPLE)
        ]
        for (actor, target), act in acts:
            with contextlib.suppress(Blacklisted):
                getattr(actions, act)(people[actor], people[target])
        for one, other in itertools.combinations(people, 2):
            if relations_queries.relation(one.pk, other.pk) is not None:
                counts.settle(one.pk, other.pk)
        me = people[0]
        for number in dismissed:
            suggestion_actions.dismiss(me, people[number].pk)
        assert suggested(me) == _obvious(me, people, {people[number].pk for number in dismissed})


def _obvious(me: User, people: list[User], dismissed: set[int]) -> list[int]:
    def follows(one: int, other: int) -> bool:
        state = relations_queries.relation(one, other)
        return state in (Relation.FOLLOWING, Relation.BI_FOLLOWING)

    def free(other: int) -> bool:
        state = relations_queries.relation(me.pk, other)
        return other != me.pk and other not in dismissed and state in (None, Relation.FOLLOWED)

    ids = [person.pk for person in people]
    mine = [other for other in ids if other != me.pk and follows(me.pk, other)]
    common = {other: sum(follows(one, other) for one in mine if one != other) for other in ids}
    followers = dict(RelationCount.objects.values_list("user_id", "followers"))
    best = sorted((o for o in ids if common[o] and free(o)), key=lambda o: (-common[o], o))
    rest = sorted(
        (o for o in ids if followers.get(o) and free(o) and o not in best),
        key=lambda o: (-followers[o], o),
    )
    return best + rest


def test_the_clock_of_lists_is_that_of_the_database(people: list[User]) -> None:
    candidates.of(people[0].pk)
    [row] = SuggestionList.objects.all()
    assert abs(row.computed_at - db.now_ms()) < 60_000
