"""Database helpers: retried transactions, upsert, ensure, INSERT … SELECT, the clock."""

import threading
import time
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import Value
from django.test.utils import CaptureQueriesContext

from socialsite.core import db
from socialsite.core.db.compiled import compiled
from socialsite.core.models import Event, IdempotencyKey
from socialsite.tests.support import locks

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

DEADLOCK = OperationalError(1213, "Deadlock found when trying to get lock")


def store(key: str, user_id: int = 1, **values) -> IdempotencyKey:
    return IdempotencyKey.objects.create(user_id=user_id, key=key, **values)


def stored() -> list[tuple[int, str]]:
    rows = IdempotencyKey.objects.order_by("user_id", "key")
    return list(rows.values_list("user_id", "key"))


# --- together -----------------------------------------------------------------------------------
def test_rows_of_several_statements_come_together_each_with_its_own_limit() -> None:
    for user_id in (1, 2, 3):
        store("x", user_id)

    @compiled
    def newest(least: int, *, number: int) -> Any:
        rows = IdempotencyKey.objects.filter(user_id__gte=least).order_by("-user_id")
        return rows.values_list("user_id", Value(number))[:2]

    with CaptureQueriesContext(connection) as queries:
        found = db.read_union(
            newest.statement(1, number=0),
            newest.statement(4, number=1),
            newest.statement(3, number=2),
        )
    assert [sorted(rows) for rows in found] == [[(2, 0), (3, 0)], [], [(3, 2)]]
    assert len(queries) == 1


# --- atomic -------------------------------------------------------------------------------------
def test_a_deadlock_runs_the_whole_function_again() -> None:
    tries = []

    @db.atomic
    def work(word: str) -> str:
        tries.append(word)
        store(f"{len(tries)}")
        if len(tries) < 3:
            raise DEADLOCK
        return word.upper()

    assert work("x") == "X"
    assert stored() == [(1, "3")]


def test_a_deadlock_that_lasts_is_raised_in_the_end() -> None:
    tries = []

    @db.atomic
    def work() -> None:
        tries.append(1)
        raise DEADLOCK

    with pytest.raises(OperationalError):
        work()
    assert len(tries) == db.ATTEMPTS


@pytest.mark.parametrize("error", [ValueError("no"), OperationalError(2006, "gone away")])
def test_other_errors_are_raised_at_once_and_leave_nothing(error) -> None:
    tries = []

    @db.atomic
    def work() -> None:
        tries.append(1)
        store("x")
        raise error

    with pytest.raises(type(error)):
        work()
    assert len(tries) == 1
    assert stored() == []


def test_a_nested_call_joins_and_the_outermost_retries_all() -> None:
    tries = []

    @db.atomic
    def inner() -> None:
        tries.append("inner")
        store(f"inner{len(tries)}")
        if tries.count("inner") == 1:
            raise DEADLOCK

    @db.atomic
    def outer() -> None:
        tries.append("outer")
        store(f"outer{len(tries)}")
        inner()

    outer()
    assert tries == ["outer", "inner", "outer", "inner"]
    assert stored() == [(1, "inner4"), (1, "outer3")]


@pytest.mark.parametrize("code", [1213, 1205, 1020])
def test_errors_of_lost_races_can_be_retried(code) -> None:
    assert db.is_retryable(OperationalError(code, "…"))


def test_a_locked_sqlite_can_be_retried_and_a_lost_server_cannot() -> None:
    assert db.is_retryable(OperationalError("database is locked"))
    assert not db.is_retryable(OperationalError(2006, "MySQL server has gone away"))
    assert not db.is_retryable(OperationalError())
    assert not db.is_retryable(ValueError(1213))


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
def test_a_real_deadlock_is_nobodys_error() -> None:
    rows = [store("a").pk, store("b").pk]
    met = threading.Barrier(2)
    tries: list[int] = []
    errors: list[Exception] = []

    @db.atomic
    def work(order: list[int]) -> None:
        tries.append(1)
        IdempotencyKey.objects.select_for_update().get(pk=order[0])
        if len(tries) <= 2:
            met.wait(timeout=60)
        IdempotencyKey.objects.select_for_update().get(pk=order[1])
        IdempotencyKey.objects.filter(pk=order[1]).update(fingerprint=f"{order[0]}")

    def run(order: list[int]) -> None:
        try:
            work(order)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(order,)) for order in (rows, rows[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(tries) == 3


# --- statements ---------------------------------------------------------------------------------
def upsert(key: str, fingerprint: str) -> None:
    db.upsert(
        IdempotencyKey,
        [IdempotencyKey(user_id=1, key=key, fingerprint=fingerprint, status=7)],
        unique_fields=["user_id", "key"],
        update_fields=["fingerprint"],
    )


def test_an_upsert_inserts_then_updates_the_named_fields_only() -> None:
    upsert("a", "one")
    first = IdempotencyKey.objects.get()
    IdempotencyKey.objects.update(status=9)
    upsert("a", "two")
    found = IdempotencyKey.objects.get()
    assert (found.pk, found.fingerprint, found.status) == (first.pk, "two", 9)


def test_ensure_makes_a_row_once_and_never_changes_it() -> None:
    row = store("a", fingerprint="one")
    db.ensure(IdempotencyKey(id=row.pk, user_id=5, key="b", fingerprint="two"))
    db.ensure(
        IdempotencyKey(id=row.pk, user_id=7, key="d"),
        IdempotencyKey(id=row.pk + 1, user_id=6, key="c"),
    )
    assert stored() == [(1, "a"), (6, "c")]
    assert IdempotencyKey.objects.get(key="a").fingerprint == "one"
    fact = {"aggregate_type": "t", "aggregate_id": 1, "type": "t"}
    db.ensure(Event(id=5, payload={"b": "é"}, **fact), Event(id=5, payload={}, **fact))
    assert Event.objects.get().payload == {"b": "é"}


def test_insert_ignore_leaves_rows_that_are_there() -> None:
    store("a", fingerprint="old")
    rows = [IdempotencyKey(user_id=1, key=key, fingerprint="new") for key in "ab"]
    db.insert_ignore(IdempotencyKey, rows)
    assert stored() == [(1, "a"), (1, "b")]
    assert IdempotencyKey.objects.get(key="a").fingerprint == "old"


@pytest.mark.parametrize("lock", [False, True])
def test_insert_from_select_copies_rows_and_counts_the_new_ones(lock) -> None:
    for key in "abc":
        store(key, fingerprint=f"'{key}%s", status=3)
    store("b", user_id=2, fingerprint="kept")
    fields = ["user_id", "key", "fingerprint", "status", "made_id", "created_at"]
    source = IdempotencyKey.objects.filter(user_id=1, key__in=["a", "b"]).values_list(
        Value(2), "key", "fingerprint", "status", "made_id", "created_at"
    )
    assert db.insert_from_select(IdempotencyKey, fields, source, lock_source=lock) == 1
    assert stored() == [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b")]
    assert IdempotencyKey.objects.get(user_id=2, key="a").fingerprint == "'a%s"
    assert IdempotencyKey.objects.get(user_id=2, key="b").fingerprint == "kept"
    assert db.insert_from_select(IdempotencyKey, fields, source, lock_source=lock) == 0


def test_insert_from_select_of_nothing_inserts_nothing() -> None:
    source = IdempotencyKey.objects.filter(user_id=1).values_list("user_id", "key")
    assert db.insert_from_select(IdempotencyKey, ["user_id", "key"], source) == 0


def test_insert_from_an_empty_queryset_inserts_nothing() -> None:
    store("a")
    source = IdempotencyKey.objects.filter(pk__in=[]).values_list("user_id", "key")
    assert db.insert_from_select(IdempotencyKey, ["user_id", "key"], source) == 0
    assert db.rows_locked_in_share(source) == []


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
@pytest.mark.parametrize("by_insert", [False, True])
def test_rows_read_under_a_share_lock_wait_to_be_changed(by_insert) -> None:
    row = store("a")
    changed = threading.Event()

    def change() -> None:
        IdempotencyKey.objects.filter(pk=row.pk).update(status=1)
        changed.set()
        connection.close()

    writer = threading.Thread(target=change)
    with transaction.atomic():
        rows = IdempotencyKey.objects.filter(pk=row.pk)
        if by_insert:
            fields = ["user_id", "key", "fingerprint", "status", "made_id", "created_at"]
            columns: tuple[Any, ...] = (Value(2), *fields[1:])
            source = rows.values_list(*columns)
            db.insert_from_select(IdempotencyKey, fields, source, lock_source=True)
        else:
            assert db.rows_locked_in_share(rows.values_list("key")) == [("a",)]
        writer.start()
        assert locks.waits_or(changed.is_set)
    writer.join()
    assert changed.is_set()


def test_the_clock_of_the_database_is_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    now = db.now_ms()
    assert before <= now <= time.time_ns() // 1_000_000
    assert db.now_ms() >= now
