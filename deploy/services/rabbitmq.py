"""A cluster of RabbitMQ for the broker, for tests and trials: nodes, each as a `Service`.

- The first node begins the cluster; the others join it. A node that comes back joins by itself.
- Nodes are named by their address. Each in its network namespace has a name service (epmd) of its
  own; nodes on loopback share one.
- Clients reach a node by `host`, the other nodes reach it by `group_host`.
"""

import json
import os
import secrets
import signal
import string
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.services import streams
from deploy.services.host import Host
from deploy.services.service import Service, ServiceError, free_port, in_namespace, tied
from deploy.services.site_processes import program

USER = "socialsite"
READY_SECONDS = 120
POLL_SECONDS = 0.3
_TEMPLATE = Path(__file__).parent / "rabbitmq.conf.tmpl"
_CONTROL = Path("/usr/lib/rabbitmq/bin/rabbitmqctl")
# Idle schedulers of Erlang would spin.
_ERLANG = "+sbwt none +sbwtdcpu none +sbwtdio none"


@dataclass(frozen=True)
class Place:
    """Where a node listens: for clients, and for the other nodes."""

    name: str
    host: str
    port: int
    group_host: str
    group_port: int
    names_port: int
    namespace: str | None = None

    @property
    def node(self) -> str:
        """The name of the node in Erlang."""
        return f"{self.name}@{self.group_host}"


def places(hosts: Sequence[Host], name: str = "node") -> list[Place]:
    """Return the places of one node on each host, on free ports."""
    names = free_port()
    return [
        Place(
            name=f"{name}{number}",
            host=host.front,
            port=free_port(),
            group_host=host.back,
            group_port=free_port(),
            names_port=names,
            namespace=host.namespace,
        )
        for number, host in enumerate(hosts, start=1)
    ]


def on_loopback(number: int = 3) -> list[Place]:
    """Return the places of so many nodes on loopback."""
    return places([Host()] * number)


class Node:
    """One node, with its data in `folder`."""

    def __init__(
        self, folder: Path, place: Place, members: Sequence[Place], password: str, cookie: str
    ) -> None:
        self.folder, self.place, self.password = folder, place, password
        folder.mkdir(0o700, parents=True, exist_ok=True)
        self._write(members, cookie)
        begin = f"exec {streams.RABBITMQ}"
        if place.namespace:  # else all nodes share one name service
            names = " ".join(tied())
            begin = f"{names} {program('epmd')} & {begin}"
        self.service = Service(
            name=place.name,
            argv=in_namespace(place.namespace, None, ["/bin/sh", "-c", begin]),
            ready=lambda: streams.answers(place.host, place.port),
            env=self.env,
            log=folder / "output",
            ready_seconds=READY_SECONDS,
            stop_seconds=30,
        )

    @property
    def env(self) -> dict[str, str]:
        """The environment of the node and of its commands."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": self.place.node,
            "RABBITMQ_USE_LONGNAME": "true",
            "RABBITMQ_DIST_PORT": str(self.place.group_port),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG,
            "ERL_EPMD_PORT": str(self.place.names_port),
            "ERL_EPMD_ADDRESS": self.place.group_host,
        }

    def control(self, *words: str) -> str:
        """Run `rabbitmqctl` beside the node; return its output. Raises ServiceError."""
        command = [str(_CONTROL), "--node", self.place.node, "--longnames", *words]
        done = subprocess.run(
            in_namespace(self.place.namespace, None, command),
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServiceError(f"rabbitmqctl {words[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def kill(self) -> None:
        """Kill the node and its name service."""
        self.service.kill()

    def freeze(self) -> None:
        """Stop the node where it is; its connections stay open."""
        self.service.kill(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.service.kill(signal.SIGCONT)

    def _write(self, members: Sequence[Place], cookie: str) -> None:
        lines = [
            f"cluster_formation.classic_config.nodes.{number} = {one.node}"
            for number, one in enumerate(members, start=1)
        ]
        text = string.Template(_TEMPLATE.read_text()).substitute(
            vars(self.place),
            user=USER,
            password=self.password,
            members="\n".join(lines),
            memory="256MB",
        )
        for name, content in (
            ("rabbitmq.conf", text),
            ("plugins", "[].\n"),
            (".erlang.cookie", cookie),
        ):
            path = self.folder / name
            path.unlink(missing_ok=True)
            path.touch(mode=0o600)
            path.write_text(content)
        (self.folder / ".erlang.cookie").chmod(0o400)


class Cluster:
    """Nodes that run."""

    def __init__(self, folder: Path, places: Sequence[Place], password: str) -> None:
        cookie = secrets.token_hex(16)
        self.password = password
        self.nodes = [Node(folder / one.name, one, places, password, cookie) for one in places]
        self._names: Service | None = None
        if not places[0].namespace:
            self._names = Service(
                name="epmd", argv=[*tied(), program("epmd")], env=self.nodes[0].env
            )

    @property
    def url(self) -> str:
        """The BROKER_URL of a site."""
        account = f"{USER}:{self.password}"
        return ";".join(
            f"amqp://{account}@{node.place.host}:{node.place.port}/" for node in self.nodes
        )

    def start(self) -> None:
        """Begin the cluster with the first node, and let the others join."""
        if self._names:
            self._names.start(wait=False)
        for node in self.nodes:
            node.service.start()
        self.wait()

    def wait(self, seconds: float = READY_SECONDS) -> None:
        """Wait until all nodes answer and see each other. Raises ServiceError."""
        deadline = time.monotonic() + seconds
        while not self.is_whole():
            if time.monotonic() > deadline:
                raise ServiceError(f"the cluster is not whole: {self.running()}")
            time.sleep(POLL_SECONDS)

    def is_whole(self) -> bool:
        """Return whether each node answers clients, and sees all others."""
        return all(self._seen(node) == len(self.nodes) for node in self.nodes)

    def running(self) -> list[int]:
        """Return how many nodes each node sees; 0 for a node that does not answer."""
        return [self._seen(node) for node in self.nodes]

    def stop(self) -> None:
        """Kill everything: nobody needs the data."""
        for node in self.nodes:
            node.kill()
        if self._names:
            self._names.kill()

    def _seen(self, node: Node) -> int:
        if not node.service.running or not node.service.is_ready():
            return 0
        try:
            found = node.control("cluster_status", "--formatter", "json")
        except ServiceError:
            return 0
        return len(json.loads(found)["running_nodes"])
