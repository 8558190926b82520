"""Budgets in the database: their arithmetic; neither concurrency nor losing Redis bypasses them."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from socialsite.core import db, redis
from socialsite.core.errors import RateLimited
from socialsite.core.models import Allowance
from socialsite.core.rate_limits import allowances
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.rate_limits.budget import Budget, Per, Rate, Store
from socialsite.core.tasks import purge_allowances
from socialsite.tests.standstill import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

FIVE = Budget(
    "five", "Of these tests.", capacity=5, hourly=60, per=Per.ADDRESS, store=Store.DATABASE
)
TWO = Budget("two", "Of these tests.", capacity=2, hourly=7, per=Per.NETWORK, store=Store.DATABASE)
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000


def granted(times: int, *takes: Take) -> int:
    return sum(not allowances.take_all(takes or [Take(FIVE, "a")]) for _ in range(times))


def wait(*takes: Take) -> int:
    with pytest.raises(RateLimited) as caught:
        allowances.spend(takes or [Take(FIVE, "a")])
    assert caught.value.retry_after
    return caught.value.retry_after


def test_the_capacity_is_given_at_once_and_the_rest_in_the_course_of_an_hour(clock: Clock) -> None:
    assert granted(9) == 5
    assert wait() == 60
    clock.now += MINUTE - 1
    assert granted(2) == 0
    clock.now += 1
    assert granted(2) == 1
    clock.now += 3 * MINUTE
    assert granted(9) == 3
    clock.now += HOUR
    assert granted(9) == 5


def test_parts_of_a_token_are_stored(clock: Clock) -> None:
    take = Take(TWO, "a")  # one flows back in 514 and two seventh seconds
    assert granted(2, take) == 2
    found = 0
    for _ in range(60):
        clock.now += MINUTE
        found += granted(1, take)
    assert found == 7


def test_the_share_that_is_left_is_that_of_whole_tokens_in_the_emptiest_bucket(
    clock: Clock, settings: Any
) -> None:
    both = [Take(FIVE, "a"), Take(TWO, "a")]
    assert allowances.share_left(both) == 1
    granted(1, *both)
    assert allowances.share_left(both) == allowances.share_left(both[::-1]) == 0.5
    granted(3)
    assert allowances.share_left(both) == 0.2
    clock.now += MINUTE - 1
    assert allowances.share_left(both) == 0.2
    clock.now += 1
    assert allowances.share_left(both) == 0.4
    granted(2)
    assert allowances.share_left(both) == 0
    clock.now -= HOUR
    assert allowances.share_left(both) == 0
    settings.BUDGETS = {"five": None}
    assert allowances.share_left(both[:1]) == 1


def test_refusals_use_nothing_up(clock: Clock) -> None:
    granted(5)
    assert granted(50) == 0
    clock.now += MINUTE
    assert granted(1) == 1


def test_owners_have_budgets_of_their_own(clock: Clock) -> None:
    assert granted(9) == granted(9, Take(FIVE, "b")) == 5


def test_several_budgets_all_grant_or_none_does(clock: Clock) -> None:
    both = [Take(FIVE, "a"), Take(TWO, "a")]
    assert granted(9, *both) == 2
    assert wait(*both) == 515
    assert granted(9) == 3
    assert [denial.budget for denial in allowances.take_all(both)] == [FIVE, TWO]


def test_tokens_of_undone_work_are_refunded(clock: Clock) -> None:
    for _ in range(9):
        with pytest.raises(ZeroDivisionError), allowances.spent([Take(FIVE, "a")]):
            raise ZeroDivisionError
    with allowances.spent([Take(FIVE, "a")]):
        pass
    assert granted(9) == 4
    allowances.refund([Take(FIVE, "a", cost=99)])
    assert granted(9) == 5


def test_a_clock_that_is_set_back_makes_no_wait_longer_than_the_rule(clock: Clock) -> None:
    granted(5)
    clock.now -= HOUR
    assert wait() == 60
    clock.now += MINUTE
    assert granted(2) == 0  # the earlier minute is not counted twice
    assert wait() == 60


def test_a_lifted_budget_writes_nothing(
    clock: Clock, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.BUDGETS = {"five": None}
    with django_assert_num_queries(0):
        assert granted(50) == 50
    settings.BUDGETS = {"five": Rate(1, 3600)}
    assert granted(2) == 1
    assert wait() == 1


def test_losing_redis_opens_nothing(clock: Clock, dead_redis: Callable[[], Any]) -> None:
    granted(5)
    redis.call(lambda connection: connection.flushdb())
    assert granted(1) == 0
    with dead_redis():
        assert granted(9) == 0
        assert granted(9, Take(FIVE, "b")) == 5


def test_rows_of_full_budgets_are_purged_and_none_reveals_its_owner(clock: Clock) -> None:
    granted(2, Take(FIVE, "192.0.2.7"))
    granted(1, Take(FIVE, "198.51.100.9"))
    assert "192.0.2" not in str(list(Allowance.objects.values()))
    clock.now += MINUTE
    purge_allowances()
    assert Allowance.objects.count() == 1
    clock.now += MINUTE
    purge_allowances()
    assert Allowance.objects.count() == 0


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_with_fifty_at_once_exactly_the_capacity_gets_through() -> None:
    slow = Budget(
        "slow", "Of these tests.", capacity=5, hourly=1, per=Per.ADDRESS, store=Store.DATABASE
    )
    other = Budget(
        "other", "Of these tests.", capacity=1000, hourly=1, per=Per.NETWORK, store=Store.DATABASE
    )
    start, found = threading.Barrier(50), []

    def run() -> None:
        try:
            start.wait()
            found.append(allowances.take_all([Take(other, "n"), Take(slow, "a")]))
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 50
    assert sum(not denials for denials in found) == 5
    assert sum(not allowances.take_all([Take(other, "n")]) for _ in range(3)) == 3
    (row,) = Allowance.objects.filter(key__startswith="other")
    assert 7.9 < (row.full_at / 1000 - db.now_ms()) / HOUR <= 8  # 5 and 3, none for refusals
