"""Servers of one database on machines of their own (`links`), which a trial kills and cuts off."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from chaos.machines.links import Link, Links
from deploy.pair import FAILURES, Pair, Server
from deploy.services import database_proxy, databases, galera, semisync
from deploy.services.service import free_port


class Nodes(Protocol):
    """What a trial does to the servers of a database. Servers are named by their number, from 0."""

    number: int
    # The DATABASE_URL of the site.
    url: str

    def connect(self, number: int) -> Any:
        """Connect straight to a server, past all networks. Raises MySQLdb.Error."""

    def kill(self, number: int, *, wipe: bool) -> None:
        """Kill a server; with `wipe` its data is gone too."""

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut links of a server's machine."""

    def refuses_since(self, number: int) -> float | None:
        """Return when a server lost the right to write (Unix seconds), None if it has it."""

    def bring_back(self, number: int, writer: int) -> None:
        """Mend the links of a server's machine, start it if it was killed, and let it join.

        `writer` is the number of the server that writes meanwhile.
        """

    def wait(self) -> None:
        """Wait until all servers are members and have applied everything."""


class GaleraNodes:
    """Three nodes of Galera behind HAProxy."""

    number = 3

    def __init__(self, cluster: galera.Cluster, links: Links, url: str) -> None:
        self._cluster, self._links, self.url = cluster, links, url
        self._cuts: dict[int, tuple[Link, ...]] = {}
        self._alone: dict[int, float] = {}

    def connect(self, number: int) -> Any:
        """Connect by the node's Unix socket."""
        return self._cluster.nodes[number].connect(read_timeout=3)

    def kill(self, number: int, *, wipe: bool) -> None:
        """Kill a node; with `wipe` it copies everything when it joins."""
        node = self._cluster.nodes[number]
        node.service.kill()
        if wipe:
            node.wipe()

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut links; a node without the others may not write."""
        self._cuts[number] = tuple(links)
        for link in links:
            self._links.cut(number, link)
        if "back" in links:
            self._alone[number] = time.time()

    def refuses_since(self, number: int) -> float | None:
        """Return when the node was cut off from the others."""
        return self._alone.get(number)

    def bring_back(self, number: int, writer: int) -> None:
        """Let the node join; it gets what it missed from the one that does not write."""
        self._alone.pop(number, None)
        for link in self._cuts.pop(number, ()):
            self._links.mend(number, link)
        nodes = self._cluster.nodes
        if not nodes[number].service.running:
            third = next(one for one in range(self.number) if one not in (number, writer))
            nodes[number].start(donor=nodes[third].place.name)
        self.wait()

    def wait(self) -> None:
        """Wait until all nodes are synced."""
        self._cluster.wait()


@contextlib.contextmanager
def galera_nodes(folder: Path) -> Iterator[GaleraNodes]:
    """Run three nodes on machines of their own, with HAProxy on this one."""
    with contextlib.ExitStack() as stack:
        links = stack.enter_context(Links(GaleraNodes.number))
        places = galera.places(links.hosts)
        password = secrets.token_hex(16)
        cluster = galera.Cluster(folder, places, password)
        stack.callback(cluster.kill)
        cluster.start()
        port = free_port()
        proxy = database_proxy.database_proxy(
            folder, port, free_port(), {one.name: f"{one.host}:{one.port}" for one in places}
        )
        stack.callback(proxy.stop)
        proxy.log = folder / "proxy.log"
        proxy.start()
        yield GaleraNodes(cluster, links, databases.mysql_url(port, password))


class PairNodes:
    """A primary and a replica behind HAProxy, and `deploy.pair` that watches them."""

    number = 2

    def __init__(
        self, pair: Pair, servers: Sequence[semisync.Node], links: Links, url: str
    ) -> None:
        self._pair, self._servers, self._links, self.url = pair, servers, links, url
        self._cuts: dict[int, tuple[Link, ...]] = {}
        self._fenced: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def start(self) -> None:
        """Make the second server a replica of the first one, and watch."""
        self._copy(1, 0)
        self._pair.rejoin()
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._over.set()
        self._thread.join()

    def connect(self, number: int) -> Any:
        """Connect by the server's Unix socket."""
        return self._servers[number].connect(read_timeout=3)

    def kill(self, number: int, *, wipe: bool) -> None:
        """Kill a server."""
        server = self._servers[number]
        server.service.kill()
        if wipe:
            server.wipe()

    def cut(self, number: int, links: Sequence[Link]) -> None:
        """Cut links; a primary without its replica confirms nothing."""
        self._cuts[number] = tuple(links)
        for link in links:
            self._links.cut(number, link)
        if "back" in links:
            self._fenced[number] = time.time()

    def refuses_since(self, number: int) -> float | None:
        """Return when the server was cut off from the other one, or that one was promoted."""
        return self._fenced.get(number)

    def bring_back(self, number: int, writer: int) -> None:
        """Kill the old primary if it still runs, and make it the replica."""
        for link in self._cuts.pop(number, ()):
            self._links.mend(number, link)
        server = self._servers[number]
        if number != writer:
            server.service.kill()
            self._fenced.pop(number, None)
            if server.has_data():
                server.start(after_promotion=True)
            else:
                self._copy(number, writer)
        self._pair.rejoin()

    def wait(self) -> None:
        """Wait until the replica has everything."""
        self._pair.wait()

    def _copy(self, number: int, source: int) -> None:
        self._servers[number].start()
        self._servers[number].copy_from(self._servers[source])

    def _watch(self) -> None:
        failures = 0
        while not self._over.wait(1):
            failures = 0 if self._pair.beat() else failures + 1
            if failures >= FAILURES:
                failures = 0
                old = self._number(self._pair.state.primary)
                done = self._pair.act()
                print(f"watch: {done or 'nothing'} because of server {old}", flush=True)
                if done == "promote":
                    self._fenced.setdefault(old, time.time())

    def _number(self, name: str) -> int:
        return next(n for n, one in enumerate(self._servers) if one.place.name == name)


@contextlib.contextmanager
def pair_nodes(folder: Path) -> Iterator[PairNodes]:
    """Run a primary and a replica on machines of their own, with HAProxy on this one."""
    with contextlib.ExitStack() as stack:
        links = stack.enter_context(Links(PairNodes.number))
        password = secrets.token_hex(16)
        places = [
            semisync.Place(
                name=f"node{number}",
                number=number,
                server=Server(host.front, 3306, host.back),
                bind="0.0.0.0",  # noqa: S104  (both links of its own machine)
                namespace=host.namespace,
            )
            for number, host in enumerate(links.hosts, start=1)
        ]
        servers = [semisync.Node(folder / one.name, one, password) for one in places]
        for server in servers:
            stack.callback(server.service.kill)
        servers[0].start()
        named = {one.name: one.server for one in places}
        pair = semisync.configure(folder, named, password)
        pair.begin(places[0].name)
        port = free_port()
        proxy = semisync.proxy(folder, port, named)
        stack.callback(proxy.stop)
        proxy.start()
        pair.resume()
        found = PairNodes(pair, servers, links, databases.mysql_url(port, password))
        found.start()
        stack.callback(found.stop)
        yield found


def missing(kind: str) -> str:
    """Return why servers of a kind cannot run here; "" if they can."""
    return galera.missing() if kind == "galera" else ""


KINDS: dict[str, Callable[[Path], AbstractContextManager[Nodes]]] = {
    "galera": galera_nodes,
    "pair": pair_nodes,
}
