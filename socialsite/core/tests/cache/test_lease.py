"""Values cached under leases: what was read before a change never outlives it."""

from collections.abc import Collection

import pytest
from django.db import transaction
from redis.exceptions import ConnectionError as RedisConnectionError

from socialsite.core import db, redis
from socialsite.core.cache.lease import Epoch, LeaseCache
from socialsite.core.tests.cache.loading import load, look_up, start

pytestmark = pytest.mark.embedded

CACHE = LeaseCache("test", ttl_ms=60_000)
EPOCH = Epoch("test")


def found(*idents: int) -> dict[int, bytes]:
    batch = redis.Batch()
    asked = CACHE.ask(batch, idents)
    batch.run()
    return asked.found


def reads(**values: bytes):
    def read(idents: Collection[int]) -> dict[int, bytes]:
        return {ident: values.get(f"v{ident}", b"") for ident in idents}

    return read


def test_loaded_values_are_cached() -> None:
    assert load(CACHE, [1, 2], reads(v1=b"one")) == {1: b"one", 2: b""}
    assert found(1, 2, 3) == {1: b"one", 2: b""}


def test_a_change_while_the_database_is_read_refuses_the_fill() -> None:
    def read(idents: Collection[int]) -> dict[int, bytes]:
        CACHE.invalidate([1])  # a writer commits
        return {1: b"old", 2: b"two"}

    assert load(CACHE, [1, 2], read) == {1: b"old", 2: b"two"}
    assert found(1, 2) == {2: b"two"}


def test_a_wipe_while_the_database_is_read_refuses_the_fill() -> None:
    def read(idents: Collection[int]) -> dict[int, bytes]:
        redis.call(lambda connection: connection.flushdb())
        return {1: b"old"}

    load(CACHE, [1], read)
    assert found(1) == {}


def test_the_second_of_two_readers_does_not_fill() -> None:
    def read(idents: Collection[int]) -> dict[int, bytes]:
        load(CACHE, [1], reads(v1=b"second"))
        assert found(1) == {}  # a lease is no value
        return {1: b"first"}

    load(CACHE, [1], read)
    assert found(1) == {1: b"first"}


def test_a_lease_does_not_replace_a_value() -> None:
    load(CACHE, [1], reads(v1=b"one"))
    load(CACHE, [1], reads(v1=b"late"))
    assert found(1) == {1: b"one"}


def test_leases_of_several_caches_come_in_one_round_trip_and_only_where_nothing_is() -> None:
    other, batch = LeaseCache("other", ttl_ms=60_000), redis.Batch()
    load(CACHE, [1], reads(v1=b"one"))
    lease, elsewhere = CACHE.lease(batch, [1, 2, 3]), other.lease(batch, [1])
    batch.run()
    assert lease.acquired == {CACHE.key(2), CACHE.key(3)}
    assert elsewhere.acquired == {other.key(1)}
    CACHE.invalidate([3])  # a writer commits before the database is read
    CACHE.fill(lease, {1: b"late", 2: b"two", 3: b"old"})
    assert found(1, 2, 3) == {1: b"one", 2: b"two"}


@pytest.mark.django_db
def test_a_transaction_neither_believes_the_cache_nor_fills_it() -> None:
    load(CACHE, [1], reads(v1=b"before"))
    with transaction.atomic():  # writes, and may be rolled back
        assert db.in_transaction()
        assert found(1) == {}
        assert load(CACHE, [1, 2], reads(v1=b"mine", v2=b"mine")) == {1: b"mine", 2: b"mine"}
    assert found(1, 2) == {1: b"before"}


def test_without_redis_the_database_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "client", dead)
    assert found(1) == {}
    assert load(CACHE, [1], reads(v1=b"one")) == {1: b"one"}


def test_a_deletion_in_the_backlog_comes_before_any_other_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redis.backlog, "PAUSE_SECONDS", 3600)  # this process asks first
    load(CACHE, [1, 2], reads(v1=b"old", v2=b"two"))
    with monkeypatch.context() as patch:
        patch.setattr(redis, "client", dead)
        CACHE.invalidate([1])
    redis.breaker.reset()
    assert found(1, 2) == {2: b"two"}
    assert not redis.backlog


def asked() -> bytes | None:
    batch = redis.Batch()
    promise = EPOCH.ask(batch)
    batch.run()
    return promise.value


def test_an_epoch_is_one_token_for_all_until_it_is_renewed() -> None:
    assert asked() is None
    first = start(EPOCH)
    assert first is not None
    assert asked() == start(EPOCH) == first
    EPOCH.renew()
    assert asked() is None
    second = start(EPOCH)
    assert second not in (None, first)
    assert asked() == second


def test_an_epoch_that_was_wiped_never_comes_back() -> None:
    first = start(EPOCH)
    redis.call(lambda connection: connection.flushdb())
    assert start(EPOCH) not in (None, first)


def test_without_redis_there_is_no_epoch_and_the_renewal_is_in_the_backlog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redis.backlog, "PAUSE_SECONDS", 3600)
    first = start(EPOCH)
    with monkeypatch.context() as patch:
        patch.setattr(redis, "client", dead)
        EPOCH.renew()
        assert start(EPOCH) is None
        with pytest.raises(redis.RedisDown):
            asked()
    redis.breaker.reset()
    assert start(EPOCH) not in (None, first)


def dead() -> None:
    raise RedisConnectionError("dead")


# --- processes of two versions ------------------------------------------------------------------
NEWER = LeaseCache("test", ttl_ms=60_000, format=2)


def test_a_value_of_another_format_is_read_anew_and_replaced() -> None:
    look_up(CACHE, [1, 2], reads(v1=b"one", v2=b"two"))
    assert look_up(NEWER, [1], reads(v1=b"one!")) == {1: b"one!"}
    assert look_up(NEWER, [1], reads(v1=b"unread")) == {1: b"one!"}
    assert found(1, 2) == {2: b"two"}
    assert look_up(CACHE, [1], reads(v1=b"one")) == {1: b"one"}


def test_a_change_by_one_version_removes_what_the_other_cached() -> None:
    look_up(NEWER, [1], reads(v1=b"one!"))
    CACHE.invalidate([1])
    assert look_up(NEWER, [1], reads(v1=b"two!")) == {1: b"two!"}
