"""A Redis Cluster for the cache, for tests and trials: masters with replicas, each a `Service`.

- It is made as `redis-cli --cluster create` makes it. The first nodes are masters with equal shares
  of the slots; each of the others is the replica of one of them.
- Slots move as redis-cli moves them, and a move can be left half done.
"""

import contextlib
import itertools
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import redis
from redis.crc import key_slot

from deploy.services.redis_node import Member, Node, Place, on_loopback
from deploy.services.service import ServiceError

MASTERS, REPLICAS = 3, 3
SLOTS = 16_384
WHOLE_SECONDS = 60.0
POLL_SECONDS = 0.05
FAILOVER_SECONDS = 6.0
# Keys that one MIGRATE takes, and how long it may take in milliseconds.
KEYS_EACH, MIGRATE_MS = 100, 5_000


class Cluster:
    """Nodes that run. Unless stated otherwise, its methods raise redis.RedisError."""

    def __init__(
        self,
        folder: Path,
        places: Sequence[Place],
        password: str,
        *,
        masters: int = MASTERS,
        megabytes: int = 64,
    ) -> None:
        self._first, self.password = masters, password
        self.nodes = {
            one.name: Node(folder / one.name, one, password, megabytes=megabytes) for one in places
        }

    def url(self) -> str:
        """Return the REDIS_URL of the site."""
        addresses = ",".join(node.place.address for node in self.nodes.values())
        return f"redis+cluster://:{self.password}@{addresses}"

    # --- start and end --------------------------------------------------------------------------
    def start(self) -> None:
        """Start all nodes, make the cluster, and wait until it is whole. Raises ServiceError."""
        nodes = list(self.nodes.values())
        for node in nodes:
            node.service.start(wait=False)
        for node in nodes:
            node.service.wait_ready()
        masters, replicas = nodes[: self._first], nodes[self._first :]
        for number, master in enumerate(masters):
            # Equal epochs of two masters would be settled by an election.
            master.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            first, end = (SLOTS * n // len(masters) for n in (number, number + 1))
            master.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for node, other in itertools.combinations(nodes, 2):
            place = other.place
            node.ask("CLUSTER", "MEET", place.host, place.port, place.bus_port)
        everybody = {node.ident for node in nodes}
        _until(
            lambda: all({one.ident for one in node.members()} == everybody for node in nodes),
            "the nodes do not know each other",
        )
        for number, replica in enumerate(replicas):
            replica.ask("CLUSTER", "REPLICATE", masters[number % len(masters)].ident)
        self.wait()

    def wait(self, seconds: float = WHOLE_SECONDS) -> None:
        """Wait until the cluster is whole. Raises ServiceError."""
        _until(self.is_whole, "the cluster is not whole", seconds)

    def is_whole(self) -> bool:
        """Return whether all nodes serve, agree on all slots, and each replica has its data."""
        views = set[frozenset[tuple[str, str, frozenset[int]]]]()
        for node in self.nodes.values():
            if not node.serving or not node.answers():
                return False
            members = node.members()
            replication = node.info("replication")
            views.add(frozenset((one.ident, one.master, one.slots) for one in members))
            flags = {flag for one in members for flag in one.flags}
            if (
                node.info("cluster")["cluster_state"] != "ok"
                or flags & {"fail", "fail?", "handshake", "noaddr"}
                or sum(len(one.slots) for one in members) != SLOTS
                or replication.get("master_link_status", "up") != "up"
            ):
                return False
        return len(views) == 1 and all(len(ids) == len(self.nodes) for ids in views)

    def stop(self) -> None:
        """Stop all nodes."""
        for node in self.nodes.values():
            self.thaw(node)
            node.service.stop()

    def kill_all(self) -> None:
        """Kill all nodes."""
        for node in self.nodes.values():
            self.kill(node)

    # --- who is who -----------------------------------------------------------------------------
    def members(self) -> list[Member]:
        """Return all nodes, as the serving node sees them that knows of the latest change.

        Raises ServiceError if no node serves.
        """
        found = list[tuple[int, int, Node]]()
        for number, node in enumerate(self.nodes.values()):
            if node.serving:
                info = node.info("cluster")
                found.append((int(info["cluster_current_epoch"]), -number, node))
        if not found:
            raise ServiceError("no node of the cluster serves")
        return max(found)[2].members()

    def masters(self) -> list[Node]:
        """Return the nodes that serve slots, those that failed without a successor included."""
        return [self._at(one.address) for one in self.members() if one.slots]

    def replicas(self, master: Node) -> list[Node]:
        """Return the replicas of a master that have not failed."""
        members = self.members()
        (ident,) = (one.ident for one in members if one.address == master.place.address)
        return [
            self._at(one.address)
            for one in members
            if one.master == ident and not one.flags & {"fail", "fail?"}
        ]

    def master_of(self, key: str) -> Node:
        """Return the node that serves the slot of a key."""
        return self.owner(slot_of(key))

    def owner(self, slot: int) -> Node:
        """Return the node that serves a slot. Raises ServiceError if there is none."""
        for one in self.members():
            if slot in one.slots:
                return self._at(one.address)
        raise ServiceError(f"nobody serves slot {slot}")

    def slots(self, node: Node) -> list[int]:
        """Return the slots that a node serves."""
        (found,) = (one for one in self.members() if one.address == node.place.address)
        return sorted(found.slots)

    def _at(self, address: str) -> Node:
        return next(node for node in self.nodes.values() if node.place.address == address)

    # --- faults ---------------------------------------------------------------------------------
    def kill(self, node: Node) -> None:
        """Kill a node."""
        node.service.kill()
        node.frozen = False

    def restart(self, node: Node) -> None:
        """Start a node that was killed or stopped: it is empty, and knows its cluster."""
        node.service.start()

    def freeze(self, node: Node) -> None:
        """Let a node stand still; its connections stay open."""
        node.frozen = True
        node.service.kill(signal.SIGSTOP)

    def thaw(self, node: Node) -> None:
        """Let a frozen node go on."""
        node.service.kill(signal.SIGCONT)
        node.frozen = False

    def failover(self, replica: Node, *, force: bool = False) -> None:
        """Let a replica take the place of its master, and wait until it has.

        With `force` the master is not asked, as if it had failed.
        """
        asked = 0.0

        def is_master() -> bool:
            nonlocal asked
            if replica in self.masters():
                return True
            # Nodes vote about a master once in two of their time-outs, and give up after five
            # seconds: then the replica must be asked again.
            if time.monotonic() > asked + FAILOVER_SECONDS:
                asked = time.monotonic()
                replica.ask("CLUSTER", "FAILOVER", *(["FORCE"] if force else []))
            return False

        _until(is_master, f"{replica.name} is not promoted")

    def send_home(self) -> None:
        """Make the first nodes the masters again, as they were in the beginning."""
        for node in [*self.nodes.values()][: self._first]:
            if node not in self.masters():
                self.failover(node)
        self.wait()

    # --- slots ----------------------------------------------------------------------------------
    def move_slots(self, numbers: Iterable[int], to: Node) -> None:
        """Move slots with their keys to a master, one after the other, as redis-cli does."""
        owners = {slot: node for node in self.masters() for slot in self.slots(node)}
        for slot in numbers:
            if (source := owners[slot]) is not to:
                self.begin_move(slot, source, to)
                self.end_move(slot, source, to)
                owners[slot] = to

    def begin_move(self, slot: int, source: Node, to: Node, *, keys: int = 0) -> None:
        """Begin to move a slot, and move so many of its keys: the move is then half done."""
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ident)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.ident)
        if keys:
            self._migrate(source, to, self._keys(source, slot, keys))

    def end_move(self, slot: int, source: Node, to: Node) -> None:
        """Move the remaining keys of a slot, and make the master its owner.

        The nodes learn of it from each other, within about a second.
        """
        while keys := self._keys(source, slot, KEYS_EACH):
            self._migrate(source, to, keys)
        # First the new owner: so the slot is never without one.
        for node in (to, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.ident)

    def _keys(self, node: Node, slot: int, most: int) -> list[bytes]:
        return list(node.ask("CLUSTER", "GETKEYSINSLOT", slot, most))

    def _migrate(self, source: Node, to: Node, keys: Sequence[bytes]) -> None:
        place = to.place
        command = ("MIGRATE", place.host, place.port, "", 0, MIGRATE_MS)
        source.ask(*command, "AUTH", self.password, "KEYS", *keys)


def slot_of(key: str) -> int:
    """Return the number of the slot of a key."""
    return int(key_slot(key.encode()))


@contextlib.contextmanager
def throw_away_cluster(directory: Path, *, megabytes: int = 64) -> Iterator[Cluster]:
    """Run three masters and three replicas on loopback for a block, with their files there."""
    cluster = Cluster(
        directory, on_loopback(MASTERS + REPLICAS), secrets.token_hex(16), megabytes=megabytes
    )
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill_all()


def _until(condition: Callable[[], bool], story: str, seconds: float = WHOLE_SECONDS) -> None:
    """Wait for a condition; an error of Redis counts as false. Raises ServiceError."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(redis.RedisError):
            if condition():
                return
        if time.monotonic() > deadline:
            raise ServiceError(story)
        time.sleep(POLL_SECONDS)
