"""The outbox and its relay: events commit with the fact, apply once, and are never lost."""

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from socialsite.core import db
from socialsite.core.events import DomainEvent, publish, registry, relay
from socialsite.core.models import Event, IdempotencyKey

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@dataclass(frozen=True, slots=True)
class Rang(DomainEvent):
    """An event for these tests only."""

    aggregate_type: ClassVar[str] = "bell"
    aggregate_field: ClassVar[str] = "bell_id"

    bell_id: int
    rung_by_name: str = ""


class CrashError(BaseException):
    """Simulates the death of the process: nothing after this line runs."""


@pytest.fixture
def listen():
    """Register handlers of Rang for one test: listen(handler, within=…, after=…)."""
    added = []

    def add(handler, **stage):
        registry.on(Rang, **stage)(handler)
        added.append(handler)
        return handler

    yield add
    for handlers in registry._handlers.values():
        handlers[:] = [handler for handler in handlers if handler not in added]


def ring(bell: int = 1) -> None:
    with transaction.atomic():
        publish(Rang(bell_id=bell))


def note(event: Rang) -> None:
    """Write a row, a database effect that shows how often it was applied."""
    IdempotencyKey.objects.create(user_id=event.bell_id, key=f"{IdempotencyKey.objects.count()}")


def notes() -> int:
    return IdempotencyKey.objects.count()


def wait_over() -> None:
    """Let all pauses and leases end."""
    Event.objects.update(available_at=0)


# --- publish ------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_publishing_outside_of_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError):
        publish(Rang(bell_id=1))
    assert not Event.objects.exists()


def test_the_row_carries_type_aggregate_and_camel_case_payload() -> None:
    publish(Rang(bell_id=7, rung_by_name="Ann"))
    row = Event.objects.get()
    assert (row.type, row.aggregate_type, row.aggregate_id) == ("Rang", "bell", 7)
    assert row.payload == {"type": "Rang", "bellId": 7, "rungByName": "Ann"}
    assert Rang.from_payload(row.payload) == Rang(bell_id=7, rung_by_name="Ann")


def test_an_event_of_a_rolled_back_fact_is_never_published(listen) -> None:
    heard: list[Any] = []
    listen(heard.append)
    with transaction.atomic():
        publish(Rang(bell_id=1))
        transaction.set_rollback(True)
    assert relay.relay() == 0
    assert heard == []


def test_a_handler_within_the_fact_runs_at_once_and_its_failure_undoes_the_fact(listen) -> None:
    def refuse(event: Rang) -> None:
        raise ValueError("no")

    listen(note, within=True)
    ring()
    assert notes() == 1
    listen(refuse, within=True)
    with pytest.raises(ValueError, match="no"):
        ring()
    assert notes() == 1
    assert Event.objects.count() == 1


def test_the_relay_is_hurried_after_the_commit_only(
    monkeypatch, django_capture_on_commit_callbacks
) -> None:
    rung: list[Any] = []
    monkeypatch.setattr("socialsite.core.events.enqueue.send", rung.append)
    with django_capture_on_commit_callbacks(execute=True):
        ring()
        assert rung == []
    assert rung == ["core.relay_events"]


@pytest.mark.django_db(transaction=True)
def test_the_request_succeeds_even_if_the_hint_fails(monkeypatch) -> None:
    def fail(task: str) -> None:
        raise RuntimeError("no more threads")

    monkeypatch.setattr("socialsite.core.events.enqueue.send", fail)
    ring()
    assert Event.objects.count() == 1


def test_a_handler_has_one_stage() -> None:
    with pytest.raises(ValueError, match="one stage"):
        registry.on(Rang, within=True, after=True)


# --- delivery -----------------------------------------------------------------------------------
def test_events_are_delivered_in_the_order_of_their_facts_and_deleted(listen) -> None:
    heard: list[Any] = []
    listen(lambda event: heard.append(event.bell_id))
    for bell in range(50):
        ring(bell)
    assert relay.relay() == 50
    assert heard == list(range(50))
    assert not Event.objects.exists()
    assert relay.relay() == 0


def test_a_batch_costs_one_transaction_beside_those_of_its_events(listen) -> None:
    listen(note)
    for bell in range(relay.BATCH):
        ring(bell)
    with CaptureQueriesContext(connection) as found:
        assert relay.relay() == relay.BATCH
    begun = [query for query in found if query["sql"].startswith("SAVEPOINT")]
    assert len(begun) == relay.BATCH + 2  # the claim, and the one that deletes and finds no more


def test_a_lone_new_event_is_applied_by_the_transaction_that_claims_it(listen) -> None:
    listen(note)
    ring()
    with CaptureQueriesContext(connection) as found:
        assert relay.relay() == 1
    begun = [query for query in found if query["sql"].startswith("SAVEPOINT")]
    assert len(begun) == 2  # the second deletes the event and finds no more
    assert notes() == 1
    assert not Event.objects.exists()


def test_an_event_that_may_have_killed_a_process_is_claimed_before_it_is_applied(listen) -> None:
    def die(event: Rang) -> None:
        raise CrashError

    listen(die)
    ring()
    Event.objects.update(created_at=timezone.now() - timedelta(seconds=relay.NEW_SECONDS))
    for attempt in (1, 2):
        with pytest.raises(CrashError):
            relay.relay()
        assert Event.objects.get().attempts == attempt
        wait_over()


def test_a_relay_stops_at_its_limit(listen) -> None:
    for bell in range(5):
        ring(bell)
    assert relay.relay(limit=3) == 3
    assert Event.objects.count() == 2


def test_effects_outside_the_database_run_after_those_inside(listen) -> None:
    order = []
    listen(lambda event: order.append(("after", notes())), after=True)
    listen(note)
    ring()
    relay.relay()
    assert order == [("after", 1)]


def test_a_crash_between_the_stages_repeats_only_the_second(listen) -> None:
    told = []

    def die_once(event: Rang) -> None:
        told.append(event)
        if len(told) == 1:
            raise CrashError

    listen(note)
    listen(die_once, after=True)
    ring()
    with pytest.raises(CrashError):
        relay.relay()
    assert Event.objects.get().applied
    assert relay.relay() == 0  # the lease of the dead relay still runs
    wait_over()
    assert relay.relay() == 1
    assert notes() == 1
    assert len(told) == 2
    assert not Event.objects.exists()


def test_a_crash_within_the_first_stage_leaves_none_of_it(listen) -> None:
    died: list[Any] = []

    def die_once(event: Rang) -> None:
        if not died:
            died.append(event)
            raise CrashError

    listen(note)
    listen(die_once)
    ring()
    with pytest.raises(CrashError):
        relay.relay()
    assert notes() == 0
    wait_over()
    relay.relay()
    assert notes() == 1


def test_a_failing_handler_undoes_the_others_and_waits_with_growing_pauses(listen) -> None:
    def fail(event: Rang) -> None:
        raise ValueError("broken")

    listen(note)
    listen(fail)
    ring()
    pauses = []
    for attempt in range(1, 5):
        before = db.now_ms()
        relay.relay()
        row = Event.objects.get()
        assert (row.attempts, row.applied, row.dead) == (attempt, False, False)
        assert row.error == "ValueError: broken"
        pauses.append(row.available_at - before)
        assert relay.relay() == 0
        wait_over()
    assert notes() == 0
    for pause, expected in zip(pauses, (500, 1000, 2000, 4000), strict=True):
        assert expected <= pause < expected + 400


def test_one_failing_event_delays_no_other(listen) -> None:
    heard: list[Any] = []

    def hear(event: Rang) -> None:
        if event.bell_id == 1:
            raise ValueError
        heard.append(event.bell_id)

    listen(hear)
    for bell in range(4):
        ring(bell)
    relay.relay()
    assert heard == [0, 2, 3]


def test_after_the_last_attempt_an_event_is_dead_until_revived(listen) -> None:
    broken = [True]

    def hear(event: Rang) -> None:
        if broken:
            raise ValueError

    listen(hear)
    listen(note)
    ring()
    Event.objects.update(attempts=relay.MAX_ATTEMPTS - 1)
    relay.relay()
    assert Event.objects.get().dead
    wait_over()
    assert relay.relay() == 0
    broken.clear()
    assert relay.revive(Event.objects.all()) == 1
    assert relay.relay() == 1
    assert notes() == 1
    assert not Event.objects.exists()


def test_the_pause_is_bounded(listen) -> None:
    def fail(event: Rang) -> None:
        raise ValueError

    listen(fail)
    ring()
    Event.objects.update(attempts=relay.MAX_ATTEMPTS - 2)
    relay.relay()
    assert Event.objects.get().available_at - db.now_ms() <= relay.BACKOFF_MAX_MS


def test_a_wrong_clock_of_this_process_makes_no_pause_longer(listen, monkeypatch) -> None:
    def fail(event: Rang) -> None:
        raise ValueError

    listen(fail)
    ring()
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 300)
    relay.relay()
    assert Event.objects.get().available_at - db.now_ms() <= relay.BACKOFF_MS


def test_an_event_of_an_unknown_type_waits_and_delays_no_other(listen) -> None:
    heard: list[Any] = []
    listen(heard.append)
    Event.objects.create(aggregate_type="x", aggregate_id=1, type="Gone", payload={})
    ring()
    relay.relay()
    assert len(heard) == 1
    assert "Gone" in Event.objects.get().error


# --- leases -------------------------------------------------------------------------------------
def test_a_claimed_event_is_nobody_elses_until_the_lease_ends() -> None:
    for bell in range(3):
        ring(bell)
    first = relay.claim(2)
    assert [row.aggregate_id for row in first] == [0, 1]
    assert [row.aggregate_id for row in relay.claim(2)] == [2]
    assert relay.claim(2) == []
    wait_over()
    assert len(relay.claim(5)) == 3


def test_a_relay_that_lost_the_lease_neither_applies_nor_deletes(listen) -> None:
    listen(note)
    ring()
    [late] = relay.claim(1)
    wait_over()
    [held] = relay.claim(1)
    assert not relay.deliver(late)
    assert notes() == 0
    assert relay.claim(1, done=[late]) == []
    assert Event.objects.exists()
    assert relay.deliver(held)
    assert notes() == 1
    assert relay.claim(1, done=[held]) == []
    assert not Event.objects.exists()
    assert not relay.deliver(held)
    assert notes() == 1


def test_an_event_whose_batch_dies_after_it_is_not_applied_again(listen) -> None:
    def die_at_the_second(event: Rang) -> None:
        if event.bell_id == 2 and notes() == 1:
            raise CrashError

    listen(die_at_the_second)
    listen(note)
    ring(1)
    ring(2)
    with pytest.raises(CrashError):
        relay.relay()
    assert [row.applied for row in Event.objects.order_by("pk")] == [True, False]
    wait_over()
    with pytest.raises(CrashError):
        relay.relay()
    assert notes() == 1


def test_a_failure_after_a_lost_lease_has_no_effect(listen) -> None:
    def fail(event: Rang) -> None:
        raise ValueError

    listen(fail, after=True)
    ring()
    [late] = relay.claim(1)
    wait_over()
    [held] = relay.claim(1)
    before = Event.objects.get().available_at
    relay._postpone(late, ValueError())
    assert Event.objects.get().available_at == before
    assert held.lease == Event.objects.get().lease


def test_an_event_can_be_delivered_later(listen) -> None:
    heard: list[Any] = []
    listen(heard.append, after=True)
    with transaction.atomic():
        publish(Rang(bell_id=1), after_seconds=3600)
    assert relay.relay() == 0
    assert relay.lag_ms() == 0  # it is not late
    wait_over()
    assert relay.relay() == 1
    assert heard == [Rang(bell_id=1)]


def test_events_of_an_older_version_use_defaults_for_new_fields(listen) -> None:
    heard: list[Any] = []
    listen(heard.append, after=True)
    ring()
    Event.objects.update(payload={"type": "Rang", "bellId": 1})
    assert relay.relay() == 1
    assert heard == [Rang(bell_id=1)]


def test_the_lag_is_the_age_of_the_oldest_event(monkeypatch) -> None:
    assert relay.lag_ms() == 0
    ring()
    oldest = Event.objects.get().created_at.timestamp()
    ring()
    for age, lag in ((7.0005, 7000), (-7.0, 0)):
        monkeypatch.setattr("time.time", lambda age=age: oldest + age)
        assert relay.lag_ms() == lag


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks")
def test_three_relays_at_once_apply_each_event_once(listen) -> None:
    told: list[int] = []
    errors: list[Exception] = []
    listen(lambda event: IdempotencyKey.objects.create(user_id=event.bell_id, key="x"))
    listen(lambda event: told.append(event.bell_id), after=True)
    for bell in range(90):
        ring(bell)

    def run() -> None:
        try:
            relay.relay()
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(told) == list(range(90))
    assert notes() == 90
    assert not Event.objects.exists()


# --- processes of two versions ------------------------------------------------------------------
def test_an_event_of_a_newer_version_waits_however_often_it_is_tried(
    listen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    listen(lambda event: heard.append(event.bell_id))
    monkeypatch.setattr(Rang, "format", 2)
    ring(1)
    monkeypatch.setattr(Rang, "format", 1)
    ring(2)
    for _ in range(2 * relay.MAX_ATTEMPTS):
        relay.relay()
        Event.objects.update(available_at=0)
    row = Event.objects.get()
    assert (heard, row.attempts, row.dead) == ([2], 0, False)
    assert row.error == "waits for a newer version of the site: Rang in format 2"
    monkeypatch.setattr(Rang, "format", 2)
    relay.relay()
    assert heard == [2, 1]
    assert not Event.objects.exists()


def test_an_event_of_an_unknown_type_waits(listen: Any) -> None:
    ring()
    Event.objects.update(type="Hummed")
    for _ in range(2 * relay.MAX_ATTEMPTS):
        relay.relay()
        Event.objects.update(available_at=0)
    assert not Event.objects.get().dead
    Event.objects.update(type="Rang")
    relay.relay()
    assert not Event.objects.exists()


def test_an_event_of_an_older_version_is_understood(
    listen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    listen(lambda event: heard.append(event.bell_id))
    ring(1)
    monkeypatch.setattr(Rang, "format", 2)
    relay.relay()
    assert heard == [1]
