"""Queries built once return the same as the ORM."""

import gc
import threading
import weakref
from collections.abc import Collection
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Count, Exists, OuterRef, QuerySet, Value
from django.db.models.query import QuerySet as Rows
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from accounts.models import TokenVersion, User
from socialsite.core.db.compiled import UnionRead, compiled, compiled_delete, compiled_update
from socialsite.core.models import Media

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def named(ids: Collection[int], also: int, *, limit: int = 100) -> "QuerySet[User, Any]":
    rows = User.objects.filter(pk__in=[*ids, also]).order_by("pk")
    return rows.values_list("username", "created_at", "roles")[:limit]


def test_rows_are_the_same_whatever_the_number_of_values(make_user) -> None:
    run = compiled(named)
    people = [make_user().pk for _ in range(5)]
    for count in (1, 2, 4, 2):
        assert run(people[:count], people[4]) == list(named(people[:count], people[4]))
    assert run(people[:4], people[4], limit=2) == list(named(people, people[4], limit=2))
    once: Any = (one for one in people[:2])  # a collection that can be read once only
    assert run(once, 7) == list(named(people[:2], 7))
    assert run([], people[0]) == []


def test_one_column_comes_flat_and_values_are_converted(make_user) -> None:
    media = Media.objects.create(
        owner_id=make_user().pk, name="a", thumb_name="b", width=1, height=1, size=1
    )

    def flat(owner_id: int) -> "QuerySet[Media, int]":
        return Media.objects.filter(owner_id=owner_id).values_list("pk", flat=True)

    def signed_in(user_id: int) -> "QuerySet[User, Any]":
        tokens = TokenVersion.objects.filter(user=OuterRef("pk"))
        return User.objects.filter(pk=user_id).annotate(is_in=Exists(tokens)).values_list("is_in")

    assert compiled(flat)(media.owner_id) == [media.pk]
    (row,) = compiled(signed_in)(media.owner_id)
    assert row == (False,)
    assert type(row[0]) is bool


def test_queries_added_together_are_one_statement_with_separate_rows(make_user) -> None:
    ids = sorted(make_user().pk for _ in range(3))

    @compiled
    def people(some: Collection[int], *, limit: int) -> "QuerySet[User, Any]":
        return User.objects.filter(pk__in=some).order_by("pk").values_list("pk")[:limit]

    @compiled
    def batches(some: Collection[int]) -> "QuerySet[User, Any]":
        rows = User.objects.filter(pk__in=some).values("pk").annotate(number=Count("pk"))
        return rows.values_list("pk", Value(7), "number")

    union = UnionRead()
    first = union.add(people, ids, limit=2)
    none = union.add(people, [7], limit=2)
    wide = union.add(batches, ids[:1])
    last = union.add(people, ids[1:], limit=5)
    with CaptureQueriesContext(connection) as captured:
        union.run()
        UnionRead().run()
    assert len(captured) == 1
    assert sorted(first) == [(ids[0],), (ids[1],)]
    assert none == []
    assert wide == [(ids[0], 7, 1)]
    assert sorted(last) == [(ids[1],), (ids[2],)]


def test_an_update_changes_the_rows_it_finds_and_counts_them(make_user) -> None:
    person, other = make_user(), make_user()

    def rename(user_id: int, old: str, new: str) -> "tuple[QuerySet[User], dict[str, Any]]":
        return User.objects.filter(pk=user_id, username=old), {"username": new, "roles": 0}

    run = compiled_update(rename)
    assert run(person.pk, person.username, "x' --") == 1
    assert run(person.pk, person.username, "again") == 0
    assert run(other.pk, other.username, "somebody") == 1
    assert dict(User.objects.values_list("pk", "username")) == {
        person.pk: "x' --",
        other.pk: "somebody",
    }


def test_a_deletion_takes_the_rows_it_finds_and_counts_them(make_user) -> None:
    person, other = make_user(), make_user()
    for user in (person, other):
        Media.objects.create(owner_id=user.pk, name=f"{user.pk}", width=1, height=1, size=1)

    def of(owner_id: int, ids: list[int]) -> "QuerySet[Media]":
        return Media.objects.filter(owner_id=owner_id, pk__in=ids)

    run = compiled_delete(of)
    ids = list(Media.objects.values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as captured:
        assert run(person.pk, ids) == 1
    assert len(captured) == 1
    assert run(person.pk, ids) == 0
    assert list(Media.objects.values_list("owner_id", flat=True)) == [other.pk]


def test_a_text_is_a_parameter_too(make_user) -> None:
    person = make_user()

    def by_name(user_id: int, name: str) -> "QuerySet[User, int]":
        return User.objects.filter(pk=user_id, username=name).values_list("pk", flat=True)

    run = compiled(by_name)
    assert run(person.pk, person.username) == [person.pk]
    assert run(person.pk, "x' OR '1'='1") == []


def test_models_come_with_what_is_selected_with_them(make_user, django_assert_num_queries) -> None:
    user = make_user()
    token = TokenVersion.objects.create(user=user, client="chrome", version=3)

    def tokens(user_id: int) -> "QuerySet[TokenVersion]":
        return TokenVersion.objects.select_related("user").filter(user_id=user_id)

    run = compiled(tokens)
    for _ in range(2):
        with django_assert_num_queries(1):
            (found,) = run(user.pk)
            assert (found, found.client, found.version) == (token, "chrome", 3)
            assert (found.user, found.user.created_at) == (user, user.created_at)
        assert not found._state.adding
    assert run(7) == []


def test_a_compiled_query_keeps_no_connection_of_another_thread(make_user) -> None:
    kept = []

    def flat(user_id: int) -> "QuerySet[User, Any]":
        return User.objects.filter(pk=user_id).values_list("pk", "created_at")

    run = compiled(flat)

    def build() -> None:
        run.statement(7)
        kept.append(weakref.ref(connections[DEFAULT_DB_ALIAS]))

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    gc.collect()
    assert kept[0]() is None
    user = make_user()
    assert run(user.pk) == [(user.pk, user.created_at)]


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction_each_time(make_user) -> None:
    def locked(user_id: int) -> "QuerySet[User]":
        return User.objects.select_for_update().filter(pk=user_id)

    run, user = compiled(locked), make_user()
    with transaction.atomic():
        assert run(user.pk) == [user]
    with pytest.raises(TransactionManagementError):
        run(user.pk)


def test_what_would_be_lost_is_refused(make_user) -> None:
    def annotated(user_id: int) -> "QuerySet[User]":
        return User.objects.filter(pk=user_id).annotate(one=Value(1))

    def changed(one: int, two: int) -> "QuerySet[User]":
        return User.objects.filter(pk__gte=one + 1, pk__lt=two, pk__gt=one)

    with pytest.raises(ValueError, match="no annotations"):
        compiled(annotated)(7)
    with pytest.raises(ValueError, match="is changed"):
        compiled(changed)(5, 9)


def test_none_stays_none(make_user) -> None:
    ids = sorted(make_user().pk for _ in range(2))

    def others(user_id: int | None, some: Collection[int]) -> "QuerySet[User, int]":
        rows = User.objects.filter(pk__in=some).order_by("pk")
        return (rows if user_id is None else rows.exclude(pk=user_id)).values_list("pk", flat=True)

    run = compiled(others)
    for _ in range(2):
        assert run(None, ids) == ids
        assert run(ids[0], ids) == ids[1:]


def test_a_query_is_built_once_and_costs_one_query(
    make_user, django_assert_num_queries, monkeypatch
) -> None:
    run = compiled(named)
    person = make_user().pk
    run([person], 7)
    monkeypatch.setattr(Rows, "filter", None)
    with django_assert_num_queries(1):
        assert len(run([person], 7)) == 1


def test_a_value_that_is_no_parameter_is_refused() -> None:
    def sliced(user_id: int, limit: int) -> "QuerySet[User, Any]":
        return User.objects.filter(pk=user_id).values_list("pk")[:limit]

    with pytest.raises(ValueError, match="not every value"):
        compiled(sliced)(1, 2)
