"""The cache on a Redis Cluster: batches by slots, and servers that missed deletions."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import Error
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deploy.services.redis_cluster import Cluster
from socialsite.core import redis
from socialsite.core.cache import lease
from socialsite.core.cache_servers import several
from socialsite.core.redis import servers
from socialsite.core.redis.scripts import SCRIPTS
from socialsite.core.redis.sharded import ledger, trust
from socialsite.core.redis.sharded.client import Sharded
from socialsite.core.redis.sharded.node_wire import NodeWire
from socialsite.core.redis.sharded.topology import Address
from socialsite.core.redis.wire import wire_of
from socialsite.core.telemetry.instruments import CACHE_SERVERS_UNUSED
from socialsite.core.tests.redis_servers.acts import Away, ask, put, seen_until, value
from socialsite.core.tests.redis_servers.conftest import OPTIONS, Process
from socialsite.doctor.checks import servers as checks
from socialsite.doctor.findings import OK, WARNING
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]

KEYS = [f"key:{number}" for number in range(8)]


@pytest.fixture
def permanent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no permit end because this machine is busy: nobody is distrusted in the test."""
    monkeypatch.setattr(trust, "PERMIT_SECONDS", 3600.0)


take = redis.script(lease.__file__, "lease_take", lease._TAKE)
fill = redis.script(lease.__file__, "lease_fill", lease._FILL)
keys_of = st.lists(st.sampled_from(KEYS), min_size=1, max_size=5, unique=True)
steps = st.one_of(
    st.tuples(st.just("MGET"), keys_of),
    st.tuples(st.just("DEL"), keys_of),
    st.tuples(st.just("SET"), keys_of),
    st.tuples(st.just("take"), keys_of, st.sampled_from([b"!a", b"!b"])),
    st.tuples(st.just("fill"), keys_of, st.sampled_from([b"!a", b"!b"])),
)


def commands_of(step: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    name, keys, *rest = step
    if name == "take":
        return [take.command(keys, [*rest, 60_000])]
    if name == "fill":
        return [fill.command(keys, [*rest, 60_000, *(f"={key}" for key in keys)])]
    return [("SET", keys[0], "x")] if name == "SET" else [(name, *keys)]


def test_a_batch_has_the_replies_of_one_server(permanent: None, process: Process) -> None:
    several, one = process(), redis.client()
    for wire in (wire_of(several.connection_pool), wire_of(one.connection_pool)):
        wire.ask([take.command(KEYS, [b"!", 1])])  # a missing script runs after its batch

    @settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
    @given(st.lists(steps, max_size=12))
    def compare(run: list[tuple[Any, ...]]) -> None:
        several.flushdb()
        one.flushdb()
        commands = [command for step in run for command in commands_of(step)]
        assert ask(several, *commands) == redis._replies(one, commands)

    compare()


def test_a_promoted_replica_that_missed_a_deletion_is_emptied_before_anybody_reads_it(
    cluster: Cluster, process: Process
) -> None:
    writer, reader = process(), process()
    key = "card:1"
    master = cluster.master_of(key)
    (replica,) = cluster.replicas(master)
    put(writer, key)
    seen_until(reader, key, b"old")
    eventually(lambda: replica.ask("DBSIZE"))
    cluster.freeze(replica)
    master.ask("CLIENT", "KILL", "TYPE", "replica")  # what follows does not reach it
    writer.delete_everywhere([key])
    cluster.kill(master)
    cluster.thaw(replica)
    assert b"old" not in seen_until(reader, key, None)
    assert cluster.master_of(key) is replica


def test_what_a_writer_cannot_delete_is_read_by_nobody(cluster: Cluster, process: Process) -> None:
    writer, reader = process(), process()
    key = "card:2"
    put(writer, key)
    seen_until(reader, key, b"old")
    with Away(writer, cluster.master_of(key)):
        writer.delete_everywhere([key])
        assert value(reader, key) != b"old"
    assert b"old" not in seen_until(reader, key, None)


def test_a_master_that_was_replaced_and_came_back_is_another_one(
    cluster: Cluster, process: Process
) -> None:
    client = process()
    key = "card:8"
    master = cluster.master_of(key)
    (replica,) = cluster.replicas(master)
    put(client, key)
    eventually(lambda: replica.ask("DBSIZE"))
    cluster.freeze(replica)
    master.ask("CLIENT", "KILL", "TYPE", "replica")
    client.delete_everywhere([key])
    cluster.freeze(master)
    cluster.thaw(replica)  # this process notices nothing of what follows
    eventually(lambda: cluster.master_of(key), lambda found: found is replica)
    cluster.thaw(master)
    eventually(lambda: master in cluster.replicas(replica))
    link = "master_link_status"
    eventually(lambda: master.info("replication").get(link), lambda found: found == "up")
    cluster.failover(master)
    assert value(client, key) in (None, "unknown")


def test_a_replica_is_not_trusted_for_the_id_of_its_master(
    cluster: Cluster, process: Process
) -> None:
    client = process()
    (replica,) = cluster.replicas(cluster.master_of("card:6"))
    at = Address(replica.place.host, replica.place.port)
    wire = NodeWire(client.connection_pool.pool(at))
    assert not wire.begin(client.trust.allowed())
    assert wire.replid == ""


def test_a_process_that_begins_with_a_deletion_distrusts_nobody(
    cluster: Cluster, process: Process
) -> None:
    process().trust.end()
    servers = several(cluster.url())
    assert servers is not None
    client = Sharded(servers, OPTIONS)
    client.delete_everywhere(["card:7"])
    assert all(one.is_trusted for one in ledger.read())
    client.trust.end()


def test_other_servers_stay_trusted(cluster: Cluster, process: Process) -> None:
    writer, reader = process(), process()
    key = "card:3"
    others = [one for one in KEYS if cluster.master_of(one) is not cluster.master_of(key)]
    put(writer, *others)
    with Away(writer, cluster.master_of(key)):
        writer.delete_everywhere([key])
        assert all(None not in seen_until(reader, one, b"old") for one in others)


def test_without_the_database_no_server_is_read(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = process()
    put(client, "card:4")

    def away() -> None:
        raise Error("away")

    monkeypatch.setattr(ledger, "read", away)
    eventually(lambda: value(client, "card:4"), lambda found: found == "unknown")
    monkeypatch.undo()
    eventually(lambda: value(client, "card:4"), lambda found: found == b"old")


def test_a_writer_waits_for_the_database_before_it_answers(
    cluster: Cluster, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = process()
    real, failures = ledger.read, [1, 1, 1]

    def away() -> Any:
        if threading.current_thread() is threading.main_thread() and failures:
            failures.pop()
            raise Error("away")
        return real()

    monkeypatch.setattr(ledger, "read", away)
    reader = process()
    put(reader, "card:5")
    with Away(writer, cluster.master_of("card:5")):
        writer.delete_everywhere(["card:5"])
        assert value(reader, "card:5") != b"old"
    assert not failures


def test_all_servers_gone_cost_no_error(cluster: Cluster, process: Process) -> None:
    client = process()
    put(client, *KEYS)
    for node in cluster.nodes.values():
        cluster.kill(node)
    assert {value(client, key) for key in KEYS} == {"unknown"}
    client.delete_everywhere(KEYS)
    for node in cluster.nodes.values():
        cluster.restart(node)
    cluster.wait()
    for key in KEYS:
        eventually(lambda key=key: value(client, key), lambda found: found is None)  # type: ignore[misc]


def test_scripts_are_in_one_slot_or_say_how_they_are_split() -> None:
    """Keys of one person have one hash tag; buckets are taken one by one (`IS_SPREAD`)."""
    apart = {"raise_floors", "token_bucket"}
    folder = Path(redis.__file__).parents[3]
    for path in folder.glob("**/cache/lua/*.lua"):
        is_many = "ipairs(KEYS)" in path.read_text() or "#KEYS" in path.read_text()
        found = [one for one in SCRIPTS.values() if one.text == path.read_text()]
        for one in found:
            assert bool(one.split) == (is_many and path.stem not in apart), path.stem


def test_the_doctor_names_servers_that_are_not_used(
    cluster: Cluster, process: Process, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "REST_MS", 3_600_000)
    client = process()
    settings.CACHE_SERVERS = several(cluster.url())
    monkeypatch.setattr(servers, "client", lambda: client)
    assert [one.level for one in checks.cache_servers()] == [OK]
    gauge = CACHE_SERVERS_UNUSED
    assert eventually(lambda: gauge._value.get(), lambda found: found == 0) == 0
    ledger.distrust({})
    found = [*checks.cache_servers()]
    assert [one.level for one in found] == [WARNING] * 3
    for node in cluster.masters():
        assert any(node.place.address in one.text for one in found)
    client.trust.want()
    eventually(lambda: gauge._value.get(), lambda found: found == 3)
