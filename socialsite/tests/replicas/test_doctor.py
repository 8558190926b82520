"""The doctor names a replica that does not answer, takes writes, or is behind."""

from typing import Any

import pytest
from django.db import connections

from deploy.services.replication import Pair
from socialsite.core.db import replicas, routing
from socialsite.doctor.checks import replicas as checks
from socialsite.doctor.findings import ERROR, OK, WARNING
from socialsite.tests.replicas.conftest import DATABASES

pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.full]


def found() -> list[tuple[str, str]]:
    return [(one.level, one.text) for one in checks.applied()]


def test_a_replica_with_everything_is_right(pair: Pair, make_user: Any) -> None:
    make_user()
    assert found() == [(OK, "replica0 has everything that the primary has.")]


def test_a_server_that_is_no_replica_is_named(
    pair: Pair, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user()
    monkeypatch.setattr(checks, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setitem(connections.settings["replica0"], "PORT", pair.primary_port)
    connections["replica0"].close()
    connections["replica0"] = connections.create_connection("replica0")
    try:
        assert found() == [
            (WARNING, "replica0 takes writes."),
            (ERROR, "replica0 is more than 0 seconds behind the primary."),
        ]
    finally:
        connections["replica0"].close()
        del connections["replica0"]


def test_a_replica_behind_is_named(
    pair: Pair, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "PATIENCE_SECONDS", 0.0)
    pair.tell("STOP SLAVE SQL_THREAD")
    make_user()
    assert found() == [(ERROR, "replica0 is more than 0 seconds behind the primary.")]


def test_a_replica_of_another_site_is_named(
    pair: Pair, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_user()
    monkeypatch.setattr(checks, "FIRST_PERSON", "SELECT @@server_id")
    assert found() == [(ERROR, "replica0 is a replica of another site.")]


def test_a_replica_that_does_not_answer_is_named(pair: Pair) -> None:
    pair.replica.kill()
    try:
        [(level, text)] = found()
    finally:
        pair.replica.start()
    assert (level, text[:31]) == (ERROR, "replica0 does not answer: (2002")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT ''", "The log of the primary is empty, so no replica can be compared"),
        ("SELECT @@gtid_executed", "The primary has no position in its log: (1193"),
    ],
    ids=["empty log", "MySQL"],
)
def test_a_primary_that_nobody_can_follow_is_named_and_answers_all_reads(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, statement: str, said: str
) -> None:
    monkeypatch.setattr(replicas, "PRIMARY_POSITION", statement)
    [(level, text)] = found()
    assert level == ERROR
    assert text.startswith(said)
    for freshness in replicas.Freshness:
        assert replicas.read(freshness, lambda: routing.read_connection().alias) == "default"


def test_without_replicas_there_is_nothing_to_say(settings: object) -> None:
    assert found() == [(OK, "There are no replicas: the database answers all reads.")]
