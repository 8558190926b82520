"""The token bucket: its contract, its clock, its life in Redis, and what holds without Redis."""

import time

import pytest

from socialsite.core import redis
from socialsite.core.errors import RateLimited
from socialsite.core.ratelimit import Bucket

BUCKET = Bucket("test", capacity=100, rate=1)


def idle(seconds: float, owner: int = 1) -> None:
    """Let an owner's bucket be as it is after `seconds` without a request."""

    def move(connection) -> None:
        last = float(connection.hget(BUCKET.key(owner), "last"))
        connection.hset(BUCKET.key(owner), "last", f"{last - seconds:.6f}")

    redis.call(move)


def granted(requests: int, owner: int = 1) -> int:
    return sum(BUCKET.take(owner).allowed for _ in range(requests))


def test_a_burst_of_200_is_granted_the_capacity_and_what_refills_meanwhile() -> None:
    start = time.monotonic()
    found = granted(200)
    assert 100 <= found <= 100 + (time.monotonic() - start) + 1


def test_a_minute_of_rest_earns_60_not_a_full_bucket() -> None:
    granted(110)
    idle(60)
    assert 60 <= granted(100) <= 62


def test_half_a_token_is_kept() -> None:
    """One request each 0.6 s earns 0.6 of a token; none of it may be rounded away (T26)."""
    granted(110)
    idle(-BUCKET.take(1).retry_after)  # away with the part of a token that is there
    found = 0
    for _ in range(50):
        idle(0.6)
        found += BUCKET.take(1).allowed
    assert 29 <= found <= 32


def test_the_clock_has_parts_of_a_second() -> None:
    """With whole seconds one may find a token less, or more, than was earned (T26)."""

    def last(connection) -> float:
        return float(connection.hget(BUCKET.key(1), "last"))

    seen = []
    for _ in range(3):
        BUCKET.take(1)
        seen.append(redis.call(last))
    assert any(moment % 1 for moment in seen)


@pytest.mark.parametrize("spent", [0, 150])
def test_the_key_outlives_the_time_to_fill_up_twice_granted_or_not(spent) -> None:
    granted(spent)
    if spent:
        redis.call(lambda connection: connection.pexpire(BUCKET.key(1), 5_000))
    assert BUCKET.take(1).allowed == (not spent)
    assert 199_000 < redis.call(lambda connection: connection.pttl(BUCKET.key(1))) <= 200_000


def test_a_refusal_says_when_to_come_back() -> None:
    granted(110)
    grant = BUCKET.take(1)
    assert not grant.allowed
    assert grant.remaining == 0
    assert 0 < grant.retry_after <= 1
    with pytest.raises(RateLimited) as caught:
        BUCKET.spend(1, cost=30)
    assert 29 <= caught.value.retry_after <= 30
    assert caught.value.status == 429


def test_what_is_left_is_told() -> None:
    assert BUCKET.take(1).remaining == 99
    assert BUCKET.spend(1, cost=9).remaining == 90


def test_owners_have_buckets_of_their_own() -> None:
    granted(101, owner=1)
    assert BUCKET.take(2).remaining == 99


def test_a_clock_that_goes_back_neither_refills_nor_takes() -> None:
    BUCKET.take(1)
    idle(-3600)
    assert BUCKET.take(1).remaining == 98


def test_ten_minutes_of_resting_and_bursting_earn_no_more_than_was_refilled() -> None:
    """The seed's key, gone after 60 s, granted 1000 of these; 100 and 9 times 60 are earned."""
    found = granted(150)
    for _ in range(9):
        idle(60)
        found += granted(150)
    assert 640 <= found <= 645


def test_the_budget_travels_in_headers() -> None:
    assert BUCKET.take(1, cost=30).headers() == {
        "RateLimit-Limit": "100",
        "RateLimit-Remaining": "70",
        "RateLimit-Reset": "30",
    }


def test_a_refusal_resets_when_one_may_come_back() -> None:
    granted(110)
    grant = BUCKET.take(1, cost=30)
    with pytest.raises(RateLimited) as caught:
        grant.check()
    assert grant.headers()["RateLimit-Remaining"] == "0"
    assert grant.headers()["RateLimit-Reset"] == str(caught.value.retry_after)


def test_without_redis_everything_is_granted_and_no_budget_told() -> None:
    redis.breaker.trip()
    assert granted(150) == 150
    assert BUCKET.take(1).headers() == {}
