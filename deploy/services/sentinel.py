"""Redis with replicas and Sentinels that choose the master, each as a `Service`.

- One `Place` is one machine: a Redis and a Sentinel. The first place begins as the master.
- With three places there are a master, two replicas and three Sentinels; with `replicas=1` the
  third place has a Sentinel only.
- A place may be in a network namespace. All addresses are those that clients use too, since
  Sentinels name one address of a master to everybody.
- Redis and Sentinel write into their configuration who the master is, so a place that comes back
  finds its role again. Nothing else is on the disk.
"""

import signal
import string
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.services import databases
from deploy.services.service import (
    Service,
    ServiceError,
    chown,
    free_port,
    in_namespace,
    private,
    unprivileged_account,
)
from deploy.services.site_processes import LOOPBACK, environment

HERE = Path(__file__).parent
NAME = "socialsite"
# A Sentinel that was frozen takes no part for 30 seconds ("tilt").
READY_SECONDS = 60.0
POLL_SECONDS = 0.1
BROKER = {"maxmemory-policy": "noeviction"}
CACHE = {
    "maxmemory": "256mb",
    "maxmemory-policy": "allkeys-lru",
    "zset-max-listpack-entries": "512",
    # What a cache takes may be lost, and a new master is emptied while it has no replica yet.
    "min-replicas-to-write": "0",
}

Address = tuple[str, int]


@dataclass(frozen=True)
class Place:
    """The machine of a Redis and a Sentinel, and its namespace."""

    name: str
    host: str
    port: int
    sentinel_port: int
    namespace: str | None = None


def on_loopback(number: int = 3) -> list[Place]:
    """Return so many places on loopback."""
    return [Place(f"node{one}", LOOPBACK, free_port(), free_port()) for one in range(1, number + 1)]


class Node:
    """A Redis and a Sentinel of one place; `redis` is None if the place has a Sentinel only."""

    def __init__(self, folder: Path, place: Place, redis: Service | None, one: Service) -> None:
        self.folder, self.place, self.redis, self.sentinel = folder, place, redis, one

    @property
    def services(self) -> list[Service]:
        """The processes of the place."""
        return [*([self.redis] if self.redis else []), self.sentinel]

    def start(self, *, wait: bool = True) -> None:
        """Start what does not run."""
        for service in self.services:
            service.start(wait=wait)

    def kill(self) -> None:
        """Kill both processes."""
        for service in self.services:
            service.kill()

    def freeze(self) -> None:
        """Stop both processes where they are; their connections stay open."""
        for service in self.services:
            service.kill(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let both go on."""
        for service in self.services:
            service.kill(signal.SIGCONT)


class Group:
    """Some places that share one master. `options` are further ones of each Redis."""

    def __init__(
        self,
        folder: Path,
        places: Sequence[Place],
        password: str,
        *,
        name: str = NAME,
        replicas: int = 2,
        options: Mapping[str, str] = BROKER,
    ) -> None:
        self.name, self.password = name, password
        self._replicas = min(replicas, len(places) - 1)
        self._settings = {
            "name": name,
            "password": password,
            "master_host": places[0].host,
            "master_port": places[0].port,
            "quorum": len(places) // 2 + 1,
            # With one replica a master goes on while that one is away.
            "min_replicas": 1 if self._replicas > 1 else 0,
        }
        self.nodes = [
            self._node(folder / place.name, place, number, places[0], options)
            for number, place in enumerate(places)
        ]

    # --- life ---------------------------------------------------------------------------------
    def start(self) -> None:
        """Start everything, and wait until it is whole."""
        for node in self.nodes:
            node.start()
        self.wait()

    def stop(self) -> None:
        """Kill everything: nobody needs the data."""
        for node in self.nodes:
            node.thaw()
            node.kill()

    def wait(self, seconds: float = READY_SECONDS) -> None:
        """Wait until all are there, follow one master, and know each other. Raises ServiceError."""
        self._wait(self.is_whole, "the replicas or Sentinels are not complete", seconds)

    def is_whole(self) -> bool:
        """Return whether all Sentinels take part, know each other, and a master with replicas."""
        told = [self._told(node) for node in self.nodes]
        first = told[0]
        if first is None or any(one != first for one in told) or self._is_tilted():
            return False
        master, others, replicas = first
        return (
            others == len(self.nodes) - 1
            and replicas == self._replicas
            and self._online_replicas(self.number_of(master)) == self._replicas
        )

    # --- who is master ------------------------------------------------------------------------
    def master(self) -> int | None:
        """Return the number of the place that most Sentinels call the master, None if none."""
        told = [one[0] for one in map(self._told, self.nodes) if one]
        for address in set(told):
            if told.count(address) * 2 > len(self.nodes):
                return self.number_of(address)
        return None

    def wait_for_master(self, *, other_than: int, seconds: float = READY_SECONDS) -> int:
        """Wait until another place is the master; return its number. Raises ServiceError."""
        self._wait(
            lambda: self.master() not in (None, other_than), "no other master was chosen", seconds
        )
        found = self.master()
        return other_than if found is None else found

    def number_of(self, address: Address) -> int:
        """Return the number of the place whose Redis has an address."""
        return next(
            number
            for number, node in enumerate(self.nodes)
            if (node.place.host, node.place.port) == address
        )

    # --- addresses ----------------------------------------------------------------------------
    @property
    def sentinels(self) -> list[Address]:
        """The addresses of the Sentinels."""
        return [(node.place.host, node.place.sentinel_port) for node in self.nodes]

    @property
    def broker_url(self) -> str:
        """The BROKER_URL of a site."""
        return ";".join(
            f"sentinel://:{self.password}@{host}:{port}" for host, port in self.sentinels
        )

    def connect(self, number: int, *, sentinel: bool = False) -> Any:
        """Return a client of one Redis, or of the Sentinel beside it."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        place = self.nodes[number].place
        return redis.Redis(
            retry=Retry(NoBackoff(), 0),
            host=place.host,
            port=place.sentinel_port if sentinel else place.port,
            password=self.password,
            socket_timeout=1,
            socket_connect_timeout=1,
            decode_responses=True,
            protocol=2,
        )

    # --- inside -------------------------------------------------------------------------------
    def _told(self, node: Node) -> tuple[Address, int, int] | None:
        """Return what a Sentinel knows: the master, and how many other Sentinels and replicas."""
        import redis

        if not node.sentinel.running:
            return None
        with (
            suppress(redis.RedisError, OSError),
            self.connect(self.nodes.index(node), sentinel=True) as client,
        ):
            state = client.sentinel_master(self.name)
            address = (str(state["ip"]), int(state["port"]))
            return address, int(state["num-other-sentinels"]), int(state["num-slaves"])
        return None

    def _is_tilted(self) -> bool:
        import redis

        for number in range(len(self.nodes)):
            with suppress(redis.RedisError, OSError), self.connect(number, sentinel=True) as client:
                if not client.info("sentinel")["sentinel_tilt"]:
                    continue
            return True
        return False

    def _online_replicas(self, number: int) -> int:
        import redis

        with suppress(redis.RedisError, OSError), self.connect(number) as client:
            found = client.info("replication")
            replicas = [found.get(f"slave{one}") for one in range(found["connected_slaves"])]
            return sum(1 for one in replicas if one and one["state"] == "online")
        return -1

    def _wait(self, is_done: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > deadline:
                raise ServiceError(f"{what}: {[self._told(node) for node in self.nodes]}")
            time.sleep(POLL_SECONDS)

    def _node(
        self, folder: Path, place: Place, number: int, first: Place, options: Mapping[str, str]
    ) -> Node:
        account = unprivileged_account(folder)
        private(folder, account)
        words = {**vars(place), **self._settings, "bind": place.host, "folder": folder}
        redis = None
        if number <= self._replicas:
            text = _filled("sentinel_server.cnf.tmpl", words)
            text += "".join(f"{key} {value}\n" for key, value in options.items())
            if number:
                text += f"replicaof {first.host} {first.port}\n"
            redis = self._service("redis", folder, place, account, text)
        text = _filled("sentinel.cnf.tmpl", {**words, "port": place.sentinel_port})
        return Node(folder, place, redis, self._service("sentinel", folder, place, account, text))

    def _service(
        self, kind: str, folder: Path, place: Place, account: str | None, text: str
    ) -> Service:
        config = folder / f"{kind}.conf"
        if not config.exists():  # else it says which master was chosen
            config.touch(mode=0o600)
            config.write_text(text)
            chown(config, account)
        words = ["--sentinel"] if kind == "sentinel" else []
        port = place.sentinel_port if words else place.port
        return Service(
            name=f"{place.name} {kind}",
            argv=in_namespace(
                place.namespace, account, [databases.redis_server(folder), str(config), *words]
            ),
            ready=lambda: databases.redis_answers(place.host, port, self.password),
            env=environment(),
            log=folder / f"{kind}.log",
            stop_seconds=5,
        )


def _filled(template: str, words: Mapping[str, object]) -> str:
    return string.Template((HERE / template).read_text()).substitute(words)
