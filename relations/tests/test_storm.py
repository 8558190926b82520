"""A short storm for CI: sixteen real threads on hot pairs of MariaDB."""

from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from relations.models import Relation, RelationCount, RelationLog, Relationship
from relations.pairs import locks
from relations.tests.helpers import row
from relations.tests.storm import storm
from socialsite.core import db

OPERATIONS = 2_000
CAP = 3

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks"),
]


@pytest.fixture
def people(make_user: Any, monkeypatch: Any) -> list[Any]:
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", CAP)
    return [make_user() for _ in range(5)]


def test_a_storm_on_hot_pairs_breaks_no_rule(people: Any) -> None:
    """Finds no illegal pair, broken chain, wrong counter, or error that a user would see."""
    found = storm(people, threads=16, operations=OPERATIONS, relays=2, cap=CAP)
    assert found.errors == []
    assert found.relay_errors == []
    assert found.illegal == []
    assert found.broken == []
    assert found.over_cap == []
    assert found.drift() == {}
    # The storm was real: the reader saw pairs during it, and many actions happened.
    assert found.looked_at > 100
    assert found.transitions > OPERATIONS / 10
    assert found.deadlocks_per_10_000 <= 2  # one may happen; the long run stays below 1


class TestTheStormSeesDamage:
    """The storm's checks detect damage."""

    def test_rows_that_do_not_mirror_each_other(self, people: Any) -> None:
        storm(people, threads=2, operations=100)
        one = Relationship.objects.exclude(relation=Relation.BI_FOLLOWING).latest("pk")
        Relationship.objects.filter(pk=one.pk).update(relation=Relation.BI_FOLLOWING)
        assert storm(people, threads=1, operations=0).illegal

    def test_a_line_missing_in_the_log(self, people: Any) -> None:
        storm(people, threads=2, operations=100)
        RelationLog.objects.order_by("pk")[2].delete()
        assert storm(people, threads=1, operations=0).broken

    def test_a_counter_that_is_wrong(self, people: Any) -> None:
        storm(people, threads=2, operations=100)
        RelationCount.objects.filter(pk=people[0].pk).update(friends=7)
        assert set(storm(people, threads=1, operations=0).drift()) == {people[0].pk}

    def test_a_deadlock_that_was_tried_again(self, people: Any, monkeypatch: Any) -> None:

        real, times = locks.counters, iter([1])

        def fail_once(ids: Any) -> Any:
            if next(times, None):
                raise OperationalError(1213, "Deadlock found")
            return real(ids)

        monkeypatch.setattr(locks, "counters", fail_once)
        found = storm(people[:2], threads=1, operations=20)
        assert found.retries == {1213: 1}
        assert found.errors == []
        assert row(*people[:2]) is not None
        assert db.is_mysql()
