"""The recount: finds exactly the wrong counters, repairs them, and ignores pending changes."""

import io
import logging
import random
import threading
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from relations import actions, tasks
from relations.counters import counts, recount
from relations.models import CountCheck, Relation, RelationCount, Relationship
from relations.pairs import states
from relations.tests.helpers import at_once, bring, counted, facts
from socialsite.core import db
from socialsite.core.events import relay
from socialsite.core.models import Event
from socialsite.tests.browser.scraper import scrape

pytestmark = pytest.mark.django_db

NOTHING = dict.fromkeys(counts.BITS, 0)


@pytest.fixture
def circle(make_user):
    """Four people: friends, a follower, a blocked one; all events are delivered."""
    people = [make_user() for _ in range(4)]
    bring(people[0], people[1], Relation.BI_FOLLOWING)
    bring(people[0], people[2], Relation.FOLLOWED)
    bring(people[0], people[3], Relation.BLACKLISTING)
    drain()
    return people


def drain() -> None:
    while relay.relay():
        pass


def spoil(user, **changes: int) -> None:
    RelationCount.objects.filter(pk=user.pk).update(**changes)


def command(*arguments: str) -> tuple[str, int]:
    """Return the output of `manage.py recount` and its exit code."""
    out = io.StringIO()
    try:
        call_command("recount", *arguments, stdout=out)
    except SystemExit as ended:
        return out.getvalue(), int(ended.code or 0)
    return out.getvalue(), 0


def test_counters_that_are_right_are_left_alone(circle) -> None:
    before = list(RelationCount.objects.values())
    found = recount.run(fix=True)
    assert (found.people, found.wrong, dict(found.drift)) == (4, 0, {})
    assert list(RelationCount.objects.values()) == before


@pytest.mark.parametrize("name", counts.BITS)
@pytest.mark.parametrize("off", [1, 40])
def test_a_wrong_counter_is_found_reported_and_repaired(circle, name, off) -> None:
    truth = [facts(user) for user in circle]
    spoil(circle[0], **{name: truth[0][name] + off})
    found = recount.run()
    assert (found.wrong, dict(found.drift)) == (1, {name: off})
    assert counted(circle[0])[name] == truth[0][name] + off
    assert recount.run(fix=True) == found
    assert [counted(user) for user in circle] == truth
    assert recount.run().wrong == 0


def test_a_counter_that_is_too_small_or_missing_is_repaired(circle) -> None:
    spoil(circle[0], **NOTHING)
    RelationCount.objects.filter(pk=circle[1].pk).delete()
    found = recount.run(fix=True)
    assert found.wrong == 2
    assert found.drift == {"following": 2, "followers": 3, "friends": 2, "blocked": 1}
    assert [counted(user) for user in circle] == [facts(user) for user in circle]


def test_counters_without_any_relation_are_repaired(make_user) -> None:
    alone = make_user()
    RelationCount.objects.create(user_id=alone.pk, followers=7)
    assert recount.run(fix=True).drift == {"followers": 7}
    assert counted(alone) == NOTHING


def test_waiting_events_are_no_drift(circle, make_user) -> None:
    actions.follow(make_user(), circle[0])
    actions.unfollow(circle[1], circle[0])
    waiting = Event.objects.count()
    assert recount.run(fix=True).wrong == 0
    assert Event.objects.count() == waiting
    assert counted(circle[0])["followers"] == 2
    drain()
    assert counted(circle[0]) == facts(circle[0])


def test_drift_is_repaired_while_events_wait(circle, make_user) -> None:
    spoil(circle[0], followers=50)
    actions.follow(make_user(), circle[0])
    assert recount.run(fix=True).drift == {"followers": 48}
    assert counted(circle[0])["followers"] == 2
    drain()
    assert counted(circle[0]) == facts(circle[0])


@pytest.mark.parametrize("loss", ["gone", "dead"])
def test_a_lost_event_is_found_and_made_up_for(circle, make_user, loss) -> None:
    actions.follow(make_user(), circle[0])
    actions.block(circle[0], circle[1])
    if loss == "gone":
        Event.objects.all().delete()
    else:
        Event.objects.update(dead=True)
    # The hub lost one follower and gained one: its counter happens to be right.
    assert recount.run().drift == {"followers": 1, "friends": 2, "blocked": 1}
    recount.run(fix=True)
    assert [counted(user) for user in circle] == [facts(user) for user in circle]
    assert recount.run().wrong == 0


def test_a_row_that_is_settled_or_changed_meanwhile_is_not_lost(circle, make_user) -> None:
    """The events are handled between the reads of the rows and of the events."""
    actions.follow(make_user(), circle[0])
    actions.unfollow(circle[2], circle[0])
    rows = [
        row
        for row in Relationship.objects.filter(from_user=circle[0])
        if counts.bits(states.of(row)) != row.counted
    ]
    assert len(rows) == 2
    drain()
    actions.follow(circle[2], circle[0])
    Event.objects.all().delete()
    assert recount._without_event(rows) == []


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_people_with_more_rows_than_a_piece_are_seen_whole_and_once(
    circle, make_user, monkeypatch, rows
) -> None:
    for _ in range(5):
        actions.follow(make_user(), circle[0])
    drain()
    spoil(circle[0], followers=9)
    spoil(circle[3], blocked=2)
    monkeypatch.setattr(recount, "ROWS", rows)
    monkeypatch.setattr(recount, "LOST_ROWS", 1)
    read: list[int] = []
    found = recount.run(progress=read.append)
    assert found.people == RelationCount.objects.count() == 9
    assert (found.wrong, dict(found.drift)) == (2, {"followers": 2, "blocked": 2})
    assert sum(read) == Relationship.objects.count()
    Event.objects.all().delete()
    actions.block(circle[1], circle[0])
    actions.unfollow(circle[2], circle[0])
    Event.objects.all().delete()
    recount.run(fix=True)
    assert [counted(user) for user in circle] == [facts(user) for user in circle]


def test_the_command_compares_prints_and_repairs_only_with_fix(circle) -> None:
    spoil(circle[0], followers=5)
    for arguments in ([], ["--dry-run"]):
        printed, code = command(*arguments)
        assert "people    4, wrong 1\nfollowing off by 0\nfollowers off by 3\n" in printed
        assert code == 1
    assert counted(circle[0])["followers"] == 5
    assert command("--fix")[1] == 0
    assert counted(circle[0]) == facts(circle[0])
    assert command()[1] == 0
    with pytest.raises(CommandError):
        command("--fix", "--dry-run")


def figures() -> dict[str, float]:
    lines = scrape().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("socialsite_relation"))
    return {name: float(value) for name, value in pairs}


def test_the_nightly_check_reports_the_drift_in_the_metrics_and_the_log(circle, caplog) -> None:
    assert figures() == {}
    spoil(circle[0], followers=5, blocked=0)
    with caplog.at_level(logging.WARNING):
        tasks.check_counts()
    assert str(circle[0].pk) in caplog.text
    assert "wrong 1" in caplog.text
    found = figures()
    assert found.pop("socialsite_relation_counts_checked_seconds") > 1.7e9
    assert found == {
        f'socialsite_relation_count_drift{{counter="{name}"}}': value
        for name, value in (("following", 0), ("followers", 3), ("friends", 0), ("blocked", 1))
    }
    assert counted(circle[0])["followers"] == 5
    recount.run(fix=True)
    assert set(figures().values()) - {0} == {
        figures()["socialsite_relation_counts_checked_seconds"]
    }


def test_only_the_newest_checks_are_stored(circle, monkeypatch) -> None:
    monkeypatch.setattr(recount, "KEPT_CHECKS", 2)
    for _ in range(4):
        recount.run()
    assert CountCheck.objects.count() == 2


def test_the_nightly_check_is_on_the_schedule() -> None:
    from django.conf import settings

    entry = settings.CELERY_BEAT_SCHEDULE["check-counts"]
    assert entry["task"] == tasks.check_counts.name


# --- real transactions --------------------------------------------------------------------------
@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "mysql", reason="needs real transactions")
class TestAtOnce:
    """Beside writers, relays and other runs, on MariaDB."""

    def test_reads_in_a_snapshot_are_of_one_moment(self, make_user) -> None:
        a, b = make_user(), make_user()
        with db.snapshot():
            assert Relationship.objects.count() == 0
            assert at_once([lambda: actions.follow(a, b)]) == [Relation.FOLLOWING]
            assert Relationship.objects.count() == 0
        assert Relationship.objects.count() == 2
        with transaction.atomic():  # the next transaction is READ COMMITTED again
            Relationship.objects.count()
            at_once([lambda: actions.unfollow(a, b)])
            assert Relationship.objects.get(from_user=a, to_user=b).relation is None

    def test_a_second_run_at_once_is_refused(self, make_user) -> None:
        with recount._alone():
            refused, *_ = at_once([recount.run])
        assert isinstance(refused, recount.AlreadyRunning)
        with recount._alone():
            assert at_once([tasks.check_counts]) == [None]
        assert not CountCheck.objects.exists()
        assert recount.run().wrong == 0

    def test_repairing_while_people_follow_and_unfollow_is_never_wrong(
        self, make_user, monkeypatch
    ) -> None:
        """Right counters are never touched; wrong ones are right from their repair on."""
        monkeypatch.setattr(recount, "ROWS", 5)
        people = [make_user() for _ in range(6)]
        for other in people[1:]:
            actions.follow(other, people[0])
        drain()
        spoil(people[0], followers=70, following=3)
        spoil(people[1], friends=4)
        over = threading.Event()
        wrong: list[Any] = []

        def write(number: int) -> None:
            dice = random.Random(number)
            for _ in range(50):
                one, two = dice.sample(people, 2)
                getattr(actions, dice.choice(["follow", "unfollow"]))(one, two)

        def run_relay() -> None:
            while not over.is_set():
                relay.relay(20)

        def repair() -> None:
            recount.run(fix=True)
            while not over.is_set():
                wrong.extend(
                    person
                    for range_ in recount._ranges()
                    for person in recount._read_range(*range_)[0]
                    if person.differences
                )
                wrong.extend(recount.run(fix=True).drift.items())

        def end(works: list[Any]) -> None:
            for work in works:
                work.join()
            over.set()

        writers = [threading.Thread(target=write_and_close, args=(write, n)) for n in range(3)]
        for writer in writers:
            writer.start()
        results = at_once([run_relay, repair, lambda: end(writers)])
        assert [result for result in results if isinstance(result, Exception)] == []
        assert wrong == []
        Event.objects.update(available_at=0)
        drain()
        assert [counted(user) for user in people] == [facts(user) for user in people]


def write_and_close(work: Any, number: int) -> None:
    """Run a writer in a thread of its own and close its connection."""
    try:
        work(number)
    finally:
        connection.close()
