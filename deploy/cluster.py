"""A site with each tier on several servers, all of them on this machine (`make cluster`).

Three machines have a part of every tier: a node of Galera, a master of the Redis Cluster and the
replica of another one, a node of RabbitMQ, and a `Stack` with the processes of the site behind
nginx. In front of them is the entrance: HAProxy for the site, HAProxy for the database, which lets
one node write, and a server of S3 buckets. Nothing else connects the processes of two machines.

`make cluster` runs the machines as groups of processes; its data is thrown away. Trials run them in
network namespaces, and kill, freeze and cut off whole machines.
"""

import contextlib
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from deploy.services import (
    database_proxy,
    databases,
    galera,
    rabbitmq,
    redis_cluster,
    redis_node,
    streams,
)
from deploy.services.bucket import bucket_server
from deploy.services.haproxy import haproxy
from deploy.services.host import Host
from deploy.services.service import Service, ServiceError, free_port
from deploy.services.site_processes import LOOPBACK, manage
from deploy.stack import Stack, StopSignal, print_line, stop_on_signals, supervise

MACHINES = 3
BUCKET = "uploads"
# After which a node of RabbitMQ that does not join is started again, as an operator does.
JOIN_SECONDS = 60.0


@dataclass
class Machine:
    """One machine: its part of each tier."""

    host: Host
    database: galera.Node
    caches: Sequence[redis_node.Node]
    broker: rabbitmq.Node
    site: Stack

    @property
    def services(self) -> list[Service]:
        """All its services. nginx comes first: a machine that dies answers nothing any more."""
        servers = (self.broker.service, *(one.service for one in self.caches))
        return [*reversed(self.site.processes.values()), *servers, self.database.service]

    def signal(self, sig: signal.Signals) -> None:
        """Send a signal to all processes."""
        for service in self.services:
            service.kill(sig)


class Cluster:
    """Three machines, counted from 0, and the entrance at an address that they reach, for a block.

    `env` configures the site of each machine.
    """

    def __init__(
        self, folder: Path, hosts: Sequence[Host], env: Mapping[str, str], entrance: str = LOOPBACK
    ) -> None:
        self._folder, self._entrance, self._given = folder, entrance, env
        self.port, self._database_port = free_port(), free_port()
        self._password = secrets.token_hex(16)
        self.database = galera.Cluster(folder, galera.places(hosts, "database"), self._password)
        # The replica of each master is on the next machine.
        masters = redis_node.places(hosts, "cache")
        replicas = redis_node.places([*hosts[1:], hosts[0]], "replica")
        self.caches = redis_cluster.Cluster(folder, [*masters, *replicas], self._password)
        self.broker = rabbitmq.Cluster(folder, rabbitmq.places(hosts, "broker"), self._password)
        self._bucket = bucket_server(entrance)
        self._cleanup = contextlib.ExitStack()
        self.machines = [self._machine(*one) for one in enumerate(hosts, start=1)]

    def _machine(self, number: int, host: Host) -> Machine:
        folder = self._folder / f"machine{number}"
        folder.mkdir()
        site = Stack(
            folder,
            env=self._env,
            host=host.front,
            behind_proxy=True,
            namespace=host.namespace,
        )
        before = (number - 2) % MACHINES + 1
        caches = [self.caches.nodes[name] for name in (f"cache{number}", f"replica{before}")]
        index = number - 1
        return Machine(host, self.database.nodes[index], caches, self.broker.nodes[index], site)

    @cached_property
    def _env(self) -> dict[str, str]:
        """The environment of all machines."""
        return {
            "SECRET_KEY": secrets.token_urlsafe(48),
            "JWT_KEYS": secrets.token_urlsafe(48),
            "METRICS_TOKEN": secrets.token_urlsafe(16),
            "SITE_URL": self.url,
            "ALLOWED_HOSTS": f"{LOOPBACK},localhost",
            "DATABASE_URL": databases.mysql_url(
                self._database_port, self._password, host=self._entrance
            ),
            "REDIS_URL": self.caches.url(),
            "BROKER_URL": self.broker.url,
            "MEDIA_URL": self._bucket.url(BUCKET),
            **self._given,
        }

    @property
    def url(self) -> str:
        """The address of the site, on this machine."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def services(self) -> dict[str, Service]:
        """All services of all machines, by their names."""
        return {
            f"machine{number} {service.name}": service
            for number, machine in enumerate(self.machines, start=1)
            for service in machine.services
        }

    # --- start and end --------------------------------------------------------------------------
    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def _start(self) -> None:
        runtime = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory()))
        self._run(self._bucket.service)
        self._bucket.client().create_bucket(Bucket=BUCKET)
        for tier, end in (
            (self.caches, self.caches.kill_all),
            (self.database, self.database.kill),
            (self.broker, self.broker.stop),
        ):
            self._cleanup.callback(end)
            tier.start()
        nodes = {
            one.place.name: f"{one.place.host}:{one.place.port}" for one in self.database.nodes
        }
        self._run(
            database_proxy.database_proxy(
                runtime, self._database_port, free_port(), nodes, self._entrance
            )
        )
        for machine in self.machines:
            self._cleanup.enter_context(machine.site)
        sites = {
            f"machine{number}": f"{machine.site.host}:{machine.site.port}"
            for number, machine in enumerate(self.machines, start=1)
        }
        self._run(haproxy(runtime, self.port, sites))

    def _run(self, service: Service) -> None:
        service.log = self._folder / f"{service.name}.log"
        self._cleanup.callback(service.stop)
        service.start()

    # --- machines that fail ---------------------------------------------------------------------
    def kill(self, number: int) -> None:
        """Kill everything on a machine."""
        self.machines[number].signal(signal.SIGKILL)

    def boot(self, number: int) -> None:
        """Start what does not run on a machine, and wait for its site; `wait` for the rest."""
        machine = self.machines[number]
        for node in machine.caches:
            node.service.start(wait=False)
        machine.broker.service.start(wait=False)
        if not machine.database.service.running:
            # Whoever sends all its data cannot write meanwhile.
            others = (n for n in range(MACHINES) if n not in (number, self.writer()))
            donor = self.machines[next(others)].database
            machine.database.start(donor=donor.place.name, wait=False)
        for service in machine.site.processes.values():
            service.start(wait=False)
        for service in machine.site.processes.values():
            service.wait_ready()

    def wait(self) -> None:
        """Wait until all tiers are whole, and each machine has its own master of the cache.

        Raises ServiceError.
        """
        self.database.wait()
        self.caches.wait()
        self.caches.send_home()
        try:
            self.broker.wait(JOIN_SECONDS)
        except ServiceError as error:
            print(f"a node of RabbitMQ is started again: {error}", flush=True)
            self._restart_brokers()

    def _restart_brokers(self) -> None:
        """Start the nodes of RabbitMQ again that see less than the others, one after the other."""
        seen = self.broker.running()
        for node, count in zip(self.broker.nodes, seen, strict=True):
            if count < max(seen):
                node.kill()
                node.service.start()
        self.broker.wait()

    def writer(self) -> int:
        """Return the number of the machine whose database the site writes to."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SELECT @@wsrep_node_name")
            (name,) = cursor.fetchone()
        return [one.place.name for one in self.database.nodes].index(name)

    def connect(self) -> Any:
        """Connect to the database as the site does. Raises MySQLdb.Error."""
        import MySQLdb  # installed in the full stack only

        return MySQLdb.connect(
            host=self._entrance,
            port=self._database_port,
            user=databases.DATABASE_USER,
            passwd=self._password,
            db=databases.DATABASE_NAME,
            connect_timeout=5,
        )


def missing() -> str:
    """Return why no cluster can run here; "" if it can."""
    return galera.missing() or ("" if streams.has_rabbitmq() else "rabbitmq-server is missing")


def main() -> int:
    """Run a cluster in the foreground until a signal."""
    if why := missing():
        print(why, file=sys.stderr)
        return 2
    stop_on_signals()
    demo = None
    try:
        with tempfile.TemporaryDirectory(prefix="socialsite-cluster-") as name:
            folder = Path(name)
            folder.chmod(0o711)  # servers run under another account
            print_line("cluster", "starting, which takes about two minutes ...")
            with Cluster(folder, [Host()] * MACHINES, {}) as cluster:
                for label, service in cluster.services.items():
                    print_line("cluster", f"{label}: process {service.pid}")
                print_line("cluster", f"logs are in {folder}")
                print_line("cluster", f"serving {cluster.url} - Ctrl-C stops everything")
                if os.environ.get("DEMO", "1") != "0":
                    demo = manage("demo", cluster.machines[0].site.env, "demo")
                    demo.start(wait=False)
                supervise(cluster.services)
    except StopSignal as signal_name:
        print_line("cluster", f"{signal_name}: stopped")
    except ServiceError as error:
        print_line("cluster", f"stopped, because {error}")
        return 1
    finally:
        if demo:
            demo.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
