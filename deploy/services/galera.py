"""A Galera cluster of MariaDB for tests and trials: nodes, each as a `Service`.

- The first node begins the cluster (`bootstrap`); the others copy everything from it.
- A node that was killed finds the position of its data (`--wsrep-recover`) before it joins again,
  and gets only what it missed.
- A node may live in a network namespace. Its socket is reached from everywhere on this machine, so
  a trial can speak with a node that is cut off.
"""

import re
import shutil
import string
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.services import databases
from deploy.services.database_proxy import CHECKER
from deploy.services.host import Host
from deploy.services.service import (
    Service,
    ServiceError,
    chown,
    free_port,
    in_namespace,
    private,
    unprivileged_account,
)
from deploy.services.site_processes import LOOPBACK, PROJECT_DIR, environment, program

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
# What `deploy/galera.sh` unpacks.
UNPACKED = PROJECT_DIR / ".galera" / "usr" / "bin"
JOIN_SECONDS = 120
_POSITION = re.compile(r"WSREP: Recovered position: (\S+)")


@dataclass(frozen=True)
class Place:
    """Where a node listens: for clients, and for the other nodes."""

    name: str
    host: str
    port: int
    group_host: str
    group_port: int
    rows_port: int
    copy_port: int
    namespace: str | None = None


def places(hosts: Sequence[Host], name: str = "node") -> list[Place]:
    """Return the places of one node on each host, on free ports."""
    return [
        Place(
            name=f"{name}{number}",
            host=host.front,
            port=free_port(),
            group_host=host.back,
            group_port=free_port(),
            rows_port=free_port(),
            copy_port=free_port(),
            namespace=host.namespace,
        )
        for number, host in enumerate(hosts, start=1)
    ]


def on_loopback(number: int) -> list[Place]:
    """Return the places of so many nodes on loopback."""
    return places([Host()] * number)


def missing() -> str:
    """Return why no cluster can run here; "" if it can."""
    if not PROVIDER.exists():
        return "galera-4 is not installed"
    if not _scripts():
        return "wsrep_sst_rsync is missing: run deploy/galera.sh"
    lacking = [name for name in ("mariadbd", "rsync") if shutil.which(name, path=_path()) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


def _scripts() -> str | None:
    return shutil.which("wsrep_sst_rsync", path=_path())


def _path() -> str:
    return f"{environment().get('PATH', '')}:/usr/sbin:/sbin:{UNPACKED}"


class Node:
    """One node, with its data in `folder`."""

    def __init__(
        self,
        folder: Path,
        place: Place,
        members: Sequence[Place],
        password: str,
        *,
        durable: bool = True,
    ) -> None:
        self.folder, self.place, self.password = folder, place, password
        self.account = unprivileged_account(folder)
        for path in (folder, folder / "work"):
            private(path, self.account)
        template = string.Template((Path(__file__).parent / "galera.cnf.tmpl").read_text())
        self._config = folder / "my.cnf"
        self._config.write_text(
            template.substitute(
                vars(place),
                data=folder / "data",
                work=folder / "work",
                members=",".join(f"{one.group_host}:{one.group_port}" for one in members),
                max_connections=300,
                memory=databases.memory(),
                flush=1 if durable else 2,
            )
        )
        chown(self._config, self.account)
        self.service = Service(
            name=place.name,
            argv=[],
            ready=self.is_synced,
            env={**environment(), "PATH": _path()},
            log=folder / "log",
            ready_seconds=JOIN_SECONDS,
            stop_seconds=60,
        )

    @property
    def socket(self) -> Path:
        """The Unix socket."""
        return self.folder / "work" / "sock"

    def start(self, *, bootstrap: bool = False, donor: str = "", wait: bool = True) -> None:
        """Start the node and, by default, wait until it has what the others have.

        With `bootstrap` it begins a cluster: no other node may run. Otherwise it gets what it
        missed from `donor`, if that one runs.
        """
        options = self._first_options() if bootstrap else []
        if donor:
            options.append(f"--wsrep-sst-donor={donor},")  # the comma: or from any other
        if (self.folder / "data" / "grastate.dat").exists():
            options += self._position_options()
        (self.folder / "data").mkdir(0o700, exist_ok=True)
        chown(self.folder / "data", self.account)
        self.service.argv = self._command(*options)
        self.service.start(wait=wait)
        self.service.argv = self._command()  # who starts only the service again lets it join

    def wipe(self) -> None:
        """Delete the data of a stopped node, so that it copies everything from another one.

        It is another node for the others then: they must have missed the old one before it starts.
        """
        shutil.rmtree(self.folder / "data")

    def connect(self, **options: Any) -> Any:
        """Connect as the site's user by the node's socket. Raises MySQLdb.Error."""
        import MySQLdb  # installed in the full stack only

        return MySQLdb.connect(
            unix_socket=str(self.socket),
            user=databases.DATABASE_USER,
            passwd=self.password,
            **{"connect_timeout": 2, "read_timeout": 5, "write_timeout": 5, **options},
        )

    def state(self, name: str) -> str:
        """Return one value of the node's status; "" if it does not answer."""
        import MySQLdb

        with suppress(MySQLdb.Error):
            connection = self.connect()
            try:
                cursor = connection.cursor()
                cursor.execute("SHOW GLOBAL STATUS LIKE %s", [name])
                return str(cursor.fetchone()[1])
            finally:
                connection.close()
        return ""

    def is_synced(self) -> bool:
        """Return whether the node is in the primary component and has applied everything."""
        return self.state("wsrep_local_state") == "4"

    def _command(self, *options: str) -> list[str]:
        """Return the command line of the server."""
        server = program("mariadbd", "mysqld")
        return in_namespace(
            self.place.namespace,
            self.account,
            [server, f"--defaults-file={self._config}", *options],
        )

    def _first_options(self) -> list[str]:
        """Return the options of the first node, which creates the data and the accounts."""
        if not (self.folder / "data" / "mysql").exists():
            databases.create_data(self.folder / "data", self.folder / "work", self.account)
            init = self.folder / "accounts.sql"
            init.touch(mode=0o600)
            init.write_text(accounts(self.password))
            chown(init, self.account)
            return ["--wsrep-new-cluster", f"--init-file={init}"]
        return ["--wsrep-new-cluster"]

    def _position_options(self) -> list[str]:
        """Return the position of the data of a node that ran before; after a kill InnoDB knows."""
        log = self.folder / "work" / "recovery.log"
        log.unlink(missing_ok=True)
        command = self._command("--wsrep-recover", f"--log-error={log}")
        done = subprocess.run(
            command, capture_output=True, text=True, env=self.service.env, check=False
        )
        found = _POSITION.search(log.read_text(errors="replace") if log.exists() else "")
        if done.returncode or not found:
            raise ServiceError(f"{self.place.name} found no position: {done.stderr}")
        return [f"--wsrep-start-position={found[1]}"]


def accounts(password: str) -> str:
    """Return the statements that create the database, the site's account and that of the checks.

    The site has no right to skip `init-connect`, or to write to a node that is read-only.
    """
    site = databases.DATABASE_USER
    lines = [f"CREATE DATABASE IF NOT EXISTS {databases.DATABASE_NAME} {databases.COLLATION};"]
    for host in ("%", "localhost", LOOPBACK):
        lines += [
            f"CREATE OR REPLACE USER '{site}'@'{host}' IDENTIFIED BY '{password}';",
            f"GRANT ALL ON *.* TO '{site}'@'{host}';",
            f"REVOKE READ ONLY ADMIN, CONNECTION ADMIN ON *.* FROM '{site}'@'{host}';",
        ]
    lines.append(f"CREATE OR REPLACE USER '{CHECKER}'@'%';")
    return "\n".join(lines) + "\n"


def mark_to_begin(node: Node) -> None:
    """Say that a node may begin the cluster, as an operator does after all nodes stopped.

    Only the node with the highest position may.
    """
    path = node.folder / "data" / "grastate.dat"
    path.write_text(path.read_text().replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"))


class Cluster:
    """Nodes that run."""

    def __init__(
        self, folder: Path, places: Sequence[Place], password: str, *, durable: bool = True
    ) -> None:
        self.nodes = [
            Node(folder / one.name, one, places, password, durable=durable) for one in places
        ]

    def start(self) -> None:
        """Begin the cluster with the first node, and let the others join."""
        for index, node in enumerate(self.nodes):
            node.start(bootstrap=not index)
        self.wait()

    def wait(self, seconds: float = JOIN_SECONDS) -> None:
        """Wait until all nodes are synced. Raises ServiceError."""
        deadline = time.monotonic() + seconds
        while not self.is_whole():
            if time.monotonic() > deadline:
                states = {one.place.name: one.state("wsrep_local_state") for one in self.nodes}
                raise ServiceError(f"the cluster is not whole: {states}")
            time.sleep(0.2)

    def is_whole(self) -> bool:
        """Return whether all nodes are synced members of one cluster."""
        size = str(len(self.nodes))
        return all(
            node.is_synced() and node.state("wsrep_cluster_size") == size for node in self.nodes
        )

    def stop(self) -> None:
        """Stop all nodes, the first one last."""
        for node in reversed(self.nodes):
            node.service.stop()

    def kill(self) -> None:
        """Kill all nodes, for data that nobody needs any more."""
        for node in self.nodes:
            node.service.kill()
