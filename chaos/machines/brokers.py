"""Brokers of three servers on machines of their own (`links`), which a trial kills and cuts off."""

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from chaos.machines.links import Link, Links
from deploy.services import rabbitmq, sentinel, streams
from deploy.services.service import ServiceError

NUMBER = 3
# After which an operator starts a node of RabbitMQ again that does not join.
JOIN_SECONDS = 60.0
_ESTABLISHED = "01"


class Brokers(Protocol):
    """What a trial does to the servers of a broker. Servers are named by their number, from 0."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of the site."""

    def target(self, worker: int) -> int:
        """Return the server whose loss hurts most, for a worker by its process id."""

    def kill(self, number: int) -> None:
        """Kill a server."""

    def freeze(self, number: int) -> None:
        """Stop a server where it is; its connections stay open."""

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut links of a server's machine: `front` to the site, `back` to the other servers."""

    def bring_back(self, number: int) -> None:
        """Undo whatever was done to a server, and wait until all are there."""


class RabbitBrokers:
    """Three nodes of RabbitMQ."""

    def __init__(self, cluster: rabbitmq.Cluster, links: Links) -> None:
        self._cluster, self._links = cluster, links
        self._cuts: dict[int, tuple[Link, ...]] = {}
        self.env = {"BROKER_URL": cluster.url}

    def target(self, worker: int) -> int:
        """Return the node that the worker is connected to."""
        connected = peers(worker)
        hosts = [node.place.host for node in self._cluster.nodes]
        return next((hosts.index(one) for one in connected if one in hosts), 0)

    def kill(self, number: int) -> None:
        """Kill a node."""
        self._cluster.nodes[number].kill()

    def freeze(self, number: int) -> None:
        """Stop a node."""
        self._cluster.nodes[number].freeze()

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut links; a node without the others closes its connections."""
        self._cuts[number] = tuple(links)
        for link in links:
            self._links.cut(number, link)

    def bring_back(self, number: int) -> None:
        """Mend everything; a node that runs joins again by itself.

        One that was frozen may stay apart, and is started again.
        """
        for link in self._cuts.pop(number, ()):
            self._links.mend(number, link)
        node = self._cluster.nodes[number]
        node.thaw()
        node.service.start()
        try:
            self._cluster.wait(JOIN_SECONDS)
        except ServiceError as error:
            print(f"node {number} is started again: {error}", flush=True)
            node.kill()
            node.service.start()
            self._cluster.wait()


class SentinelBrokers:
    """A Redis with two replicas, and three Sentinels, in pairs of both."""

    def __init__(self, group: sentinel.Group, links: Links) -> None:
        self._group, self._links = group, links
        self._cuts: dict[int, tuple[Link, ...]] = {}
        self.env = {
            "BROKER_URL": group.broker_url,
            "BROKER_SENTINEL_MASTER": group.name,
            "BROKER_SENTINEL_PASSWORD": group.password,
        }

    def target(self, worker: int) -> int:
        """Return the master."""
        found = self._group.master()
        if found is None:
            raise ServiceError("no Redis is the master")
        return found

    def kill(self, number: int) -> None:
        """Kill a Redis and its Sentinel."""
        self._group.nodes[number].kill()

    def freeze(self, number: int) -> None:
        """Stop both."""
        self._group.nodes[number].freeze()

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut the site off, the other servers, or both.

        All use one address. So `front` alone is everything, and `back` alone spares the site.
        """
        self._cuts[number] = tuple(links)
        if "front" in links:
            self._links.cut(number, "front")
        else:
            self._links.isolate(number)

    def bring_back(self, number: int) -> None:
        """Mend everything; the Sentinels make a Redis that comes back a replica."""
        cut = self._cuts.pop(number, ())
        if "front" in cut:
            self._links.mend(number, "front")
        elif cut:
            self._links.unite(number)
        node = self._group.nodes[number]
        node.thaw()
        node.start()
        self._group.wait()


def peers(process: int) -> list[str]:
    """Return the IPv4 addresses that a process has open connections to."""
    inodes = set()
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(path)))
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _ESTABLISHED and fields[9] in inodes:
            octets = bytes.fromhex(fields[2].partition(":")[0])[::-1]
            found.append(".".join(map(str, octets)))
    return found


@contextlib.contextmanager
def rabbitmq_brokers(folder: Path) -> Iterator[Brokers]:
    """Run three nodes of RabbitMQ."""
    with Links(NUMBER) as links:
        places = rabbitmq.places(links.hosts)
        cluster = rabbitmq.Cluster(folder, places, secrets.token_hex(16))
        try:
            cluster.start()
            yield RabbitBrokers(cluster, links)
        finally:
            cluster.stop()


@contextlib.contextmanager
def sentinel_brokers(folder: Path) -> Iterator[Brokers]:
    """Run a Redis with two replicas, and three Sentinels."""
    with Links(NUMBER) as links:
        places = [
            sentinel.Place(f"node{number}", host.front, 6379, 26379, host.namespace)
            for number, host in enumerate(links.hosts, start=1)
        ]
        group = sentinel.Group(folder, places, secrets.token_hex(16))
        try:
            group.start()
            yield SentinelBrokers(group, links)
        finally:
            group.stop()


def missing(kind: str) -> str:
    """Return why brokers of a kind cannot run here; "" if they can."""
    if kind == "rabbitmq" and not streams.has_rabbitmq():
        return "rabbitmq-server is not installed"
    return ""


KINDS: dict[str, Callable[[Path], AbstractContextManager[Brokers]]] = {
    "rabbitmq": rabbitmq_brokers,
    "sentinel": sentinel_brokers,
}
