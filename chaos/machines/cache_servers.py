"""The Redis of a site's caches on machines of their own (`links`), and what goes wrong with it."""

import contextlib
import random
import secrets
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from chaos.machines.links import Links
from deploy.services import databases, redis_node
from deploy.services.host import Host
from deploy.services.redis_cluster import Cluster
from deploy.services.redis_node import Node
from deploy.services.service import Service

PORT = 6379
# How long a server is away. A replica of the cluster takes over within about four seconds.
KILLED_SECONDS, FROZEN_SECONDS, CUT_SECONDS, ALL_SECONDS = 8.0, 10.0, 10.0, 3.0
# Slots that move, beside those that have keys, and the moves that stay half done for a moment.
MOVED, HALF_EVERY, HALF_SECONDS = 300, 25, 0.3
TIMEOUT_SECONDS = 0.5

Hits = tuple[int, int]
Fault = Callable[[random.Random], str]


class Caches(Protocol):
    """Servers of a cache, and the faults that they know by name.

    A fault blocks until it is over and everything is repaired, and returns what it hit.
    """

    # The REDIS_URL of the site.
    url: str
    faults: Mapping[str, Fault]

    def wait(self) -> None:
        """Wait until all servers are there again."""

    def counts(self) -> dict[str, Hits]:
        """Return the hits and misses of each server that answers, by its name and process."""


def _hits(client: "redis.Redis") -> tuple[str, Hits]:
    info = client.info()
    return str(info["run_id"]), (int(info["keyspace_hits"]), int(info["keyspace_misses"]))


class SingleCache:
    """One Redis."""

    def __init__(self, folder: Path, links: Links, sites: int) -> None:
        self._links, self._sites, self._host = links, sites, links.hosts[sites]
        password = secrets.token_hex(16)
        self.url = f"redis://:{password}@{self._host.front}:{PORT}/0"
        self.service = _server(folder, self._host, password)
        self._client = redis.Redis(
            unix_socket_path=str(folder / "cache" / "sock"),
            password=password,
            socket_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._frozen = False
        self.faults: Mapping[str, Fault] = {
            "kill": self._kill,
            "freeze": self._freeze,
            "flush": self._flush,
            "cut": self._cut,
        }

    def wait(self) -> None:
        """Wait until it answers."""
        self.service.wait_ready()

    def counts(self) -> dict[str, Hits]:
        """Return the hits and misses."""
        if self._frozen:
            return {}
        with contextlib.suppress(redis.RedisError):
            return dict([_hits(self._client)])
        return {}

    def _kill(self, dice: random.Random) -> str:
        self.service.kill()
        time.sleep(ALL_SECONDS)
        self.service.start()
        return "the server"

    def _freeze(self, dice: random.Random) -> str:
        self._frozen = True
        self.service.kill(signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        self.service.kill(signal.SIGCONT)
        self._frozen = False
        return "the server"

    def _flush(self, dice: random.Random) -> str:
        self._client.flushall()
        time.sleep(ALL_SECONDS)
        return "the server"

    def _cut(self, dice: random.Random) -> str:
        number = dice.randrange(self._sites)
        with _parted(self._links, number, self._host):
            time.sleep(CUT_SECONDS)
        return f"machine {number}"


class ClusterCaches:
    """A Redis Cluster of three masters and three replicas, each on a machine."""

    def __init__(self, cluster: Cluster, links: Links, sites: int) -> None:
        self._cluster, self._links, self._sites = cluster, links, sites
        self.url = cluster.url()
        self.faults: Mapping[str, Fault] = {
            "kill": self._kill,
            "freeze": self._freeze,
            "move": self._move,
            "cut": self._cut,
            "all": self._all,
        }

    def wait(self) -> None:
        """Wait until the cluster is whole."""
        self._cluster.wait()

    def counts(self) -> dict[str, Hits]:
        """Return the hits and misses of all nodes that serve."""
        found = dict[str, Hits]()
        for node in self._cluster.nodes.values():
            if node.serving:
                with contextlib.suppress(redis.RedisError):
                    name, hits = _hits(node.client)
                    found[name] = hits
        return found

    def _master(self, dice: random.Random) -> Node:
        return dice.choice(sorted(self._cluster.masters(), key=lambda node: node.name))

    def _kill(self, dice: random.Random) -> str:
        node = self._master(dice)
        self._cluster.kill(node)
        time.sleep(KILLED_SECONDS)
        self._cluster.restart(node)
        self.wait()
        return node.name

    def _freeze(self, dice: random.Random) -> str:
        node = self._master(dice)
        self._cluster.freeze(node)
        time.sleep(FROZEN_SECONDS)
        self._cluster.thaw(node)
        self.wait()
        return node.name

    def _move(self, dice: random.Random) -> str:
        """Move slots to another master and back."""
        source = self._master(dice)
        target = dice.choice([node for node in self._cluster.masters() if node is not source])
        slots = self._cluster.slots(source)
        full = [slot for slot in slots if source.ask("CLUSTER", "COUNTKEYSINSLOT", slot)]
        chosen = sorted({*full[: MOVED // 2], *dice.sample(slots, min(MOVED, len(slots)))})
        for one, other in ((source, target), (target, source)):
            for turn, slot in enumerate(chosen):
                self._cluster.begin_move(slot, one, other, keys=1)
                if turn % HALF_EVERY == 0:
                    time.sleep(HALF_SECONDS)
                self._cluster.end_move(slot, one, other)
        self.wait()
        return f"{len(chosen)} slots from {source.name} to {target.name} and back"

    def _cut(self, dice: random.Random) -> str:
        number, node = dice.randrange(self._sites), self._master(dice)
        host = next(one for one in self._links.hosts if one.front == node.place.host)
        with _parted(self._links, number, host):
            time.sleep(CUT_SECONDS)
        self.wait()
        return f"machine {number} from {node.name}"

    def _all(self, dice: random.Random) -> str:
        self._cluster.kill_all()
        time.sleep(ALL_SECONDS)
        for node in self._cluster.nodes.values():
            self._cluster.restart(node)
        self.wait()
        return "all servers"


@contextlib.contextmanager
def _parted(links: Links, number: int, host: Host) -> Iterator[None]:
    links.part(number, host)
    try:
        yield
    finally:
        links.rejoin(number, host)


def _server(folder: Path, host: Host, password: str) -> Service:
    """Return a Redis that listens in the namespace of its machine."""
    options = {
        "bind": host.front,
        "maxmemory": "64mb",
        "maxmemory-policy": "allkeys-lru",
    }
    service = databases._redis("cache", folder, PORT, password, options)
    service.enter(host.namespace)
    service.ready = lambda: _listens(folder / "cache" / "sock")
    return service


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@contextlib.contextmanager
def single(folder: Path, links: Links, sites: int) -> Iterator[SingleCache]:
    """Run one server on the machine behind those of the site."""
    caches = SingleCache(folder, links, sites)
    try:
        caches.service.start()
        yield caches
    finally:
        caches.service.kill()


@contextlib.contextmanager
def cluster(folder: Path, links: Links, sites: int) -> Iterator[ClusterCaches]:
    """Run six nodes on the machines behind those of the site."""
    places = redis_node.places(links.hosts[sites:])
    nodes = Cluster(folder, places, secrets.token_hex(16))
    try:
        nodes.start()
        yield ClusterCaches(nodes, links, sites)
    finally:
        nodes.kill_all()


Start = Callable[[Path, Links, int], AbstractContextManager[Caches]]
# How many machines a kind needs, and its start.
KINDS: dict[str, tuple[int, Start]] = {"single": (1, single), "cluster": (6, cluster)}


def hits_between(before: Mapping[str, Hits], after: Mapping[str, Hits]) -> int:
    """Return the hits between two counts; a server that started meanwhile counts from 0."""
    return sum(hits - before.get(name, (0, 0))[0] for name, (hits, _) in after.items())
