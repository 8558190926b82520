"""Servers of one database on machines of their own (`links`), which a trial kills and cuts off."""

import contextlib
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from chaos.machines.links import Host, Link, Links
from deploy.services import database_proxy, databases, galera
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
        places = [_place(f"node{number + 1}", host) for number, host in enumerate(links.hosts)]
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


def _place(name: str, host: Host) -> galera.Place:
    return galera.Place(
        name=name,
        host=host.front,
        port=3306,
        group_host=host.back,
        group_port=4567,
        rows_port=4568,
        copy_port=4444,
        namespace=host.namespace,
    )


def missing(kind: str) -> str:
    """Return why servers of a kind cannot run here; "" if they can."""
    return galera.missing() if kind == "galera" else ""


KINDS = {"galera": galera_nodes}
