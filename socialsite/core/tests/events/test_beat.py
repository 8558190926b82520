"""The schedule in every worker: each run is sent exactly once, by whichever worker lives."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from celery.schedules import crontab
from django.db import DatabaseError, connection

from socialsite import schedule
from socialsite.core.events import beat, enqueue
from socialsite.core.models import ScheduledRun
from socialsite.tests.standstill import Clock

SECOND, HOUR = 1000, 3_600_000
# 2026-03-01 03:59:00 UTC
BEGIN = 1_772_337_540_000
ENTRIES = {
    "often": {"task": "a.often", "schedule": timedelta(seconds=2), "options": {"expires": 2}},
    "nightly": {"task": "a.nightly", "schedule": crontab(hour=4, minute=0)},
}

Make = Callable[[], beat.SharedScheduler]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that reached the broker."""
    found: list[str] = []

    def send(task: str, expires: float | None) -> bool:
        found.append(task)
        return True

    monkeypatch.setattr(enqueue, "send_before", send)
    return found


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Make:
    """Return a function that makes the scheduler of another worker."""
    proxy: Any = current_app
    clock.now = BEGIN
    # A test's transaction would be closed.
    monkeypatch.setattr(beat, "close_old_connections", lambda: None)

    def make() -> beat.SharedScheduler:
        monkeypatch.setattr(proxy._get_current_object().conf, "beat_schedule", ENTRIES)
        return beat.SharedScheduler(app=proxy._get_current_object())

    return make


@pytest.mark.django_db
def test_a_task_runs_when_it_is_due_and_not_before(
    worker: Make, clock: Clock, sent: list[str]
) -> None:
    one = worker()
    assert 0 < one.tick() <= 2
    clock.now += 1 * SECOND
    assert one.tick() == pytest.approx(1)
    assert sent == []
    clock.now += 1 * SECOND
    one.tick()
    one.tick()
    assert sent == ["a.often"]


@pytest.mark.django_db
def test_a_run_that_one_worker_sent_is_not_sent_by_another(
    worker: Make, clock: Clock, sent: list[str]
) -> None:
    workers = [worker(), worker()]
    workers[0].tick()  # the first tick of a new site stores the times
    for _ in range(60):
        clock.now += 2 * SECOND
        for one in workers:
            one.tick()
    assert Counter(sent) == {"a.often": 60, "a.nightly": 1}


@pytest.mark.django_db
def test_another_worker_goes_on_when_one_is_gone(
    worker: Make, clock: Clock, sent: list[str]
) -> None:
    killed, other = worker(), worker()
    killed.tick()
    clock.now += 2 * SECOND
    killed.tick()
    del killed
    clock.now += 2 * SECOND
    other.tick()
    assert sent == ["a.often"] * 2


@pytest.mark.django_db
def test_a_nightly_task_that_was_missed_runs_once_later(
    worker: Make, clock: Clock, sent: list[str]
) -> None:
    worker().tick()
    clock.now += 9 * HOUR  # no worker ran at four o'clock
    again = worker()
    again.tick()
    again.tick()
    assert Counter(sent) == {"a.often": 1, "a.nightly": 1}


@pytest.mark.django_db
def test_a_run_that_the_broker_refused_is_tried_again(
    worker: Make, clock: Clock, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = worker()
    one.tick()
    clock.now += 2 * SECOND
    with monkeypatch.context() as patch:
        patch.setattr(enqueue, "send_before", lambda *args: False)
        one.tick()
    assert sent == []
    one.tick()
    assert sent == ["a.often"]


@pytest.mark.django_db
def test_a_time_in_the_future_stops_no_task(worker: Make, clock: Clock, sent: list[str]) -> None:
    one = worker()
    one.tick()
    ScheduledRun.objects.update(last_run=BEGIN + 1000 * HOUR)
    one.tick()
    assert sorted(sent) == ["a.nightly", "a.often"]
    assert set(ScheduledRun.objects.values_list("last_run", flat=True)) == {BEGIN}


@pytest.mark.django_db
def test_an_error_of_the_database_does_not_end_the_thread(
    worker: Make, clock: Clock, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = worker()
    one.tick()
    clock.now += 2 * SECOND

    def fail(*args: Any) -> Any:
        raise DatabaseError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(beat, "_last_runs", fail)
        assert one.tick() == beat.RETRY_SECONDS
    one.tick()
    assert sent == ["a.often"]


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_the_same_moment_never_both_send(
    worker: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real threads with connections of their own, which start each tick together."""
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(
        enqueue, "send_before", lambda task, expires: sent.append((task, clock.now)) or True
    )
    rounds, workers = 40, [worker(), worker(), worker()]
    workers[0].tick()

    def later() -> None:
        clock.now += 2 * SECOND

    together = threading.Barrier(len(workers), action=later)

    def work(one: beat.SharedScheduler) -> None:
        try:
            for _ in range(rounds):
                together.wait(60)
                one.tick()
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == len(set(sent))
    # A tick fails if the one writer of SQLite is busy; the next one sends the task.
    assert len(sent) > rounds // 2
    assert [task for task, _ in sent].count("a.nightly") == 1


@pytest.mark.once
def test_the_names_of_all_entries_fit_the_table() -> None:
    longest = ScheduledRun._meta.get_field("name").max_length
    assert longest is not None
    assert max(map(len, schedule.TASKS)) <= longest
