"""Six Redis servers as a cluster: replicas take over, slots move, and a move may be half done."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.cluster import RedisCluster
from redis.exceptions import AskError, MovedError, TryAgainError

from deploy.services.redis_cluster import SLOTS, Cluster, slot_of, throw_away_cluster
from deploy.services.redis_node import Member, Node, on_loopback
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.once
TAG = "{one slot}"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="socialsite-redis-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # Redis may run under another account
        with throw_away_cluster(folder) as found:
            yield found


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    yield running
    for node in running.nodes.values():
        if node.frozen:
            running.thaw(node)
        if not node.service.running:
            running.restart(node)
    running.wait()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[RedisCluster]:
    first = next(iter(cluster.nodes.values())).place
    with RedisCluster(host=first.host, port=first.port, password=cluster.password) as found:
        yield found


def successor(cluster: Cluster, master: Node) -> Node:
    """Return the node that serves the slots of a master that is away."""
    slot = cluster.slots(master)[0]
    (replica,) = cluster.replicas(master)
    assert eventually(lambda: cluster.owner(slot), lambda owner: owner is not master) is replica
    return replica


def test_each_master_has_a_third_of_the_slots_and_a_replica(cluster: Cluster) -> None:
    masters = cluster.masters()
    assert len(masters) == 3
    assert sorted(slot for one in masters for slot in cluster.slots(one)) == list(range(SLOTS))
    assert len({replica.name for one in masters for replica in cluster.replicas(one)}) == 3
    assert max(len(cluster.slots(one)) for one in masters) == 5462
    addresses = [node.place.address for node in cluster.nodes.values()]
    assert cluster.url() == f"redis+cluster://:{cluster.password}@{','.join(addresses)}"


def test_a_server_asks_for_the_password_and_stores_nothing(cluster: Cluster) -> None:
    node = cluster.masters()[0]
    stranger = redis.Redis(host=node.place.host, port=node.place.port)
    with stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    settings = node.client.config_get("save", "appendonly", "maxmemory-policy")
    assert settings == {"save": "", "appendonly": "no", "maxmemory-policy": "allkeys-lru"}
    config = node.folder / "redis.conf"
    assert config.stat().st_mode & 0o777 == 0o600
    assert "$" not in config.read_text()


@pytest.mark.slow(reason="waits until nodes agree that a master has failed")
def test_the_replica_of_a_killed_master_takes_over_and_it_becomes_a_replica(
    cluster: Cluster, client: RedisCluster
) -> None:
    client.set("key", "value")
    killed = cluster.master_of("key")
    eventually(lambda: killed.client.wait(1, 100))
    cluster.kill(killed)
    assert not cluster.is_whole()
    promoted = successor(cluster, killed)
    assert promoted.ask("GET", "key") == b"value"
    cluster.restart(killed)
    cluster.wait()
    assert cluster.replicas(promoted) == [killed]


@pytest.mark.slow(reason="waits until nodes agree that a master has failed")
def test_a_frozen_master_is_replaced_and_forgets_its_own_keys(cluster: Cluster) -> None:
    frozen = cluster.master_of("key")
    cluster.freeze(frozen)
    promoted = successor(cluster, frozen)
    promoted.ask("SET", "key", "newer")
    cluster.thaw(frozen)
    cluster.wait()
    assert frozen.client.info("replication")["role"] == "slave"
    frozen.ask("READONLY")
    assert eventually(lambda: frozen.client.dbsize(), lambda size: size == promoted.client.dbsize())


def test_a_replica_takes_over_when_an_operator_says_so(cluster: Cluster) -> None:
    master = cluster.masters()[0]
    (replica,) = cluster.replicas(master)
    cluster.failover(replica)
    cluster.wait()
    assert cluster.replicas(replica) == [master]


def test_keys_move_with_their_slot(cluster: Cluster, client: RedisCluster) -> None:
    slot = slot_of(TAG)
    source = cluster.owner(slot)
    target = next(node for node in cluster.masters() if node is not source)
    keys = [f"{TAG}{number}" for number in range(250)]
    for key in keys:
        client.set(key, key)
    cluster.move_slots([slot, slot], target)
    assert cluster.owner(slot) is target
    assert source.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == 0
    assert client.mget(keys) == [key.encode() for key in keys]
    cluster.wait()
    with pytest.raises(MovedError, match=f"{slot} {target.place.address}"):
        source.ask("GET", keys[0])


def test_a_slot_can_stay_half_moved(cluster: Cluster, client: RedisCluster) -> None:
    slot = slot_of(TAG)
    source = cluster.owner(slot)
    target = next(node for node in cluster.masters() if node is not source)
    keys = {f"{TAG}{number}" for number in range(10)}
    for key in keys:
        client.set(key, key)
    moved = target.ask("CLUSTER", "COUNTKEYSINSLOT", slot)
    there = source.ask("CLUSTER", "COUNTKEYSINSLOT", slot)
    cluster.begin_move(slot, source, target, keys=4)
    assert moved == 0
    assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == 4
    assert source.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == there - 4
    assert cluster.owner(slot) is source
    # A command with keys on both sides is refused, one for an absent key is sent on.
    with pytest.raises(TryAgainError):
        source.ask("MGET", *keys)
    with pytest.raises(AskError, match=f"{slot} {target.place.address}"):
        source.ask("GET", f"{TAG}absent")
    assert [client.get(key) for key in keys] == [key.encode() for key in keys]
    cluster.end_move(slot, source, target)
    assert cluster.owner(slot) is target
    assert target.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == there


def test_a_line_of_cluster_nodes_is_read() -> None:
    line = (
        "07c3 10.0.0.1:6379@16379,host myself,master - 0 1426238317239 4 connected 0-2 7 "
        "[9->-67ed] 11-12"
    )
    assert Member.read(line) == Member(
        "07c3",
        "10.0.0.1:6379",
        frozenset({"myself", "master"}),
        "-",
        frozenset({0, 1, 2, 7, 11, 12}),
    )
    replica = "824f 10.0.0.2:6379@16379 slave,fail 07c3 0 1426238316232 4 disconnected"
    assert Member.read(replica).slots == frozenset()
    assert Member.read(replica).master == "07c3"


def test_nodes_on_loopback_have_ports_of_their_own() -> None:
    places = on_loopback(6)
    assert len({port for one in places for port in (one.port, one.bus_port)}) == 12
