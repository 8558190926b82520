"""One node of a Redis Cluster for tests and trials: its place, its process, what it knows.

A node may live in a network namespace. Its Unix socket is reached from everywhere on this machine,
so a trial can speak with a node that is cut off.
"""

import contextlib
import functools
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.services import databases
from deploy.services.host import Host
from deploy.services.service import (
    Service,
    chown,
    free_port,
    in_namespace,
    private,
    unprivileged_account,
)

# Longer than a MIGRATE may take.
TIMEOUT_SECONDS = 7.0


@dataclass(frozen=True)
class Place:
    """Where a node listens: for clients, and for the other nodes."""

    name: str
    host: str
    port: int
    bus_port: int
    namespace: str | None = None

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"{self.host}:{self.port}"


def places(hosts: Sequence[Host], name: str = "redis") -> list[Place]:
    """Return the places of one node on each host, on free ports."""
    return [
        Place(f"{name}{number}", host.front, free_port(), free_port(), host.namespace)
        for number, host in enumerate(hosts, start=1)
    ]


def on_loopback(number: int) -> list[Place]:
    """Return the places of so many nodes on loopback."""
    return places([Host()] * number)


@dataclass(frozen=True)
class Member:
    """A node of the cluster as a node sees it, from a line of CLUSTER NODES.

    `master` is the id of its master, "-" for a master. `slots` are those that it serves.
    """

    ident: str
    address: str
    flags: frozenset[str]
    master: str
    slots: frozenset[int]

    @classmethod
    def read(cls, line: str) -> "Member":
        """Return the member of a line."""
        ident, address, flags, master, _ping, _pong, _epoch, _link, *slots = line.split()
        # In brackets are slots that move.
        ranges = [one.split("-") for one in slots if not one.startswith("[")]
        numbers = (
            n for first, *rest in ranges for n in range(int(first), int((rest or [first])[0]) + 1)
        )
        return cls(
            ident, address.split("@")[0], frozenset(flags.split(",")), master, frozenset(numbers)
        )


class Node:
    """One node, with its files in `folder`."""

    def __init__(self, folder: Path, place: Place, password: str, *, megabytes: int = 64) -> None:
        self.folder, self.place, self.password = folder, place, password
        self.frozen = False
        account = unprivileged_account(folder)
        private(folder, account)
        template = string.Template((Path(__file__).parent / "redis_cluster.conf.tmpl").read_text())
        config = folder / "redis.conf"
        config.touch(mode=0o600)
        config.write_text(
            template.substitute(
                bind=place.host,
                host=place.host,
                port=place.port,
                bus_port=place.bus_port,
                work=folder,
                password=password,
                megabytes=megabytes,
            )
        )
        chown(config, account)
        server = databases.redis_server(folder)
        self.service = Service(
            name=place.name,
            argv=in_namespace(place.namespace, account, [server, str(config)]),
            ready=self.answers,
            log=folder / "log",
            stop_seconds=5,
        )

    @property
    def name(self) -> str:
        """The name of its place."""
        return self.place.name

    @property
    def serving(self) -> bool:
        """True while the process runs and is not frozen."""
        return self.service.running and not self.frozen

    def ask(self, *command: Any) -> Any:
        """Send one command by the Unix socket, return its reply. Raises redis.RedisError."""
        return cast("Any", self.client).execute_command(*command)

    @functools.cached_property
    def client(self) -> "redis.Redis":
        """A client of this node alone, by its Unix socket: it follows no redirection."""
        return redis.Redis(
            unix_socket_path=str(self.folder / "sock"),
            password=self.password,
            socket_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )

    def answers(self) -> bool:
        """Return whether the node answers."""
        with contextlib.suppress(redis.RedisError, OSError):
            return bool(self.ask("PING"))
        return False

    @functools.cached_property
    def ident(self) -> str:
        """The id of the node in the cluster, which it keeps in a file."""
        return str(self.ask("CLUSTER", "MYID").decode())

    def members(self) -> list[Member]:
        """Return all nodes as this one sees them."""
        lines = self.ask("CLUSTER", "NODES").decode().splitlines()
        return [Member.read(line) for line in lines]

    def info(self, section: str) -> dict[str, str]:
        """Return a section of INFO; of `cluster` CLUSTER INFO."""
        command = ("CLUSTER", "INFO") if section == "cluster" else ("INFO", section)
        reply = self.ask(*command)
        if isinstance(reply, dict):
            return {str(name): str(value) for name, value in reply.items()}
        pairs = (line.partition(":") for line in reply.decode().splitlines())
        return {name: value for name, colon, value in pairs if colon}
