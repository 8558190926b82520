"""A primary and a replica that has everything the primary confirms, for tests and trials.

`deploy.pair` gives the servers their roles.
"""

import contextlib
import json
import shutil
import string
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.pair import Pair, Server
from deploy.services import databases
from deploy.services.haproxy import listens
from deploy.services.service import (
    Service,
    chown,
    free_port,
    in_namespace,
    private,
    unprivileged_account,
)
from deploy.services.site_processes import LOOPBACK, environment, program

# The account of the program, by which the servers copy from each other too.
ADMIN = "pair"
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Place:
    """Where a server is, and the namespace of its machine."""

    name: str
    number: int
    server: Server
    bind: str = LOOPBACK
    namespace: str | None = None


class Node:
    """One of the two servers, with its data in `folder`."""

    def __init__(self, folder: Path, place: Place, password: str) -> None:
        self.folder, self.place, self.password = folder, place, password
        self.account = unprivileged_account(folder)
        for path in (folder, folder / "work"):
            private(path, self.account)
        template = string.Template((HERE / "semisync.cnf.tmpl").read_text())
        self._config = folder / "my.cnf"
        self._config.write_text(
            template.substitute(
                data=folder / "data",
                work=folder / "work",
                bind=place.bind,
                port=place.server.port,
                number=place.number,
                memory=databases.memory(),
            )
        )
        chown(self._config, self.account)
        self.service = Service(
            name=place.name,
            argv=[],
            ready=self._answers,
            env=environment(),
            log=folder / "log",
            stop_seconds=60,
        )

    def start(self, *, after_promotion: bool = False) -> None:
        """Start the server; it takes no writes and copies nothing.

        `after_promotion` of the other server it removes what that one never confirmed to have. With
        that a primary that is still the primary would remove what it has confirmed alone.
        """
        options = ["--init-rpl-role=SLAVE"] if after_promotion else []
        if not self.has_data():
            databases.create_data(self.folder / "data", self.folder / "work", self.account)
            options.append(f"--init-file={self._accounts()}")
        server = program("mariadbd", "mysqld")
        self.service.argv = in_namespace(
            self.place.namespace,
            self.account,
            [server, f"--defaults-file={self._config}", *options],
        )
        self.service.start()

    def has_data(self) -> bool:
        """Return whether the server has run."""
        return (self.folder / "data").exists()

    def wipe(self) -> None:
        """Delete the data of a stopped server."""
        shutil.rmtree(self.folder / "data")

    def connect(self, **options: Any) -> Any:
        """Connect as the site's user by the server's socket. Raises MySQLdb.Error."""
        import MySQLdb  # installed in the full stack only

        return MySQLdb.connect(
            unix_socket=str(self.folder / "work" / "sock"),
            user=databases.DATABASE_USER,
            passwd=self.password,
            **{"connect_timeout": 2, "read_timeout": 5, **options},
        )

    def copy_from(self, other: "Node") -> None:
        """Load all databases of another server, with its position, into this new one."""
        env = {**environment(), "MYSQL_PWD": self.password}
        dump = [
            *self._client("mariadb-dump", other),
            *("--single-transaction", "--master-data=1", "--gtid", "--skip-lock-tables"),
            *("--routines", "--databases", *other.databases()),
        ]
        file = self.folder / "copy.sql"
        with file.open("w") as out:
            out.write("SET SESSION sql_log_bin = 0;\n")
            out.flush()
            subprocess.run(dump, env=env, stdout=out, check=True)
        with file.open() as text:
            subprocess.run(self._client("mariadb", self), env=env, stdin=text, check=True)
        file.unlink()

    def databases(self) -> list[str]:
        """Return the names of the databases other than those of the server itself."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SHOW DATABASES")
            own = ("mysql", "sys", "information_schema", "performance_schema")
            return [row[0] for row in cursor.fetchall() if row[0] not in own]

    def _client(self, name: str, node: "Node") -> list[str]:
        return [
            program(name),
            "--no-defaults",
            f"--socket={node.folder / 'work' / 'sock'}",
            f"--user={ADMIN}",
        ]

    def _answers(self) -> bool:
        import MySQLdb

        try:
            self.connect().close()
        except MySQLdb.Error:
            return False
        return True

    def _accounts(self) -> Path:
        """Write the statements of the first start, which are not copied."""
        site, lines = databases.DATABASE_USER, ["SET SESSION sql_log_bin = 0;"]
        lines.append(
            f"CREATE DATABASE IF NOT EXISTS {databases.DATABASE_NAME} {databases.COLLATION};"
        )
        for user in (site, ADMIN):
            for host in ("%", "localhost", LOOPBACK):
                lines += [
                    f"CREATE OR REPLACE USER '{user}'@'{host}' IDENTIFIED BY '{self.password}';",
                    f"GRANT ALL ON *.* TO '{user}'@'{host}';",
                ]
                if user == site:
                    lines.append(f"REVOKE READ ONLY ADMIN ON *.* FROM '{user}'@'{host}';")
        path = self.folder / "accounts.sql"
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n")
        return chown(path, self.account)


def proxy(folder: Path, port: int, servers: Mapping[str, Server]) -> Service:
    """HAProxy on a loopback port, which sends all connections to the primary of the folder."""
    config = folder / "pair_proxy.cfg"
    config.write_text(configuration(f"{LOOPBACK}:{port}", folder, servers))
    return Service(
        name="database proxy",
        argv=[program("haproxy"), "-W", "-db", "-f", str(config)],
        ready=lambda: listens(port),
        stop_seconds=2,
    )


def configuration(bind: str, folder: Path, servers: Mapping[str, Server]) -> str:
    """Return the text of haproxy.cfg, for an address to listen on."""
    template = string.Template((HERE / "pair_proxy.cfg.tmpl").read_text())
    backends = [
        f"backend {name}\n    server {name} {one.host}:{one.port}\n"
        for name, one in servers.items()
    ]
    return template.substitute(
        bind=bind,
        socket=folder / "proxy.sock",
        map=folder / "primary.map",
        backends="\n".join(backends),
    )


def configure(folder: Path, servers: Mapping[str, Server], password: str) -> Pair:
    """Write `pair.json` into a folder; return the pair, which has no state yet."""
    path = folder / "pair.json"
    path.touch(mode=0o600)
    told = {
        "servers": {name: asdict(one) for name, one in servers.items()},
        "user": ADMIN,
        "password": password,
        "proxy": str(folder / "proxy.sock"),
    }
    path.write_text(json.dumps(told))
    return Pair(folder)


@dataclass(frozen=True)
class OnLoopback:
    """Two servers that run, the program that gives them their roles, and the port of the proxy."""

    servers: list[Node]
    pair: Pair
    port: int


@contextlib.contextmanager
def on_loopback(folder: Path, password: str) -> Iterator[OnLoopback]:
    """Run two servers and their proxy for a block; the first one writes, the other is empty."""
    named = {name: Server(LOOPBACK, free_port(), LOOPBACK) for name in ("a", "b")}
    servers = [
        Node(folder / name, Place(name, number, server), password)
        for number, (name, server) in enumerate(named.items(), start=1)
    ]
    pair = configure(folder, named, password)
    pair.begin("a")
    port = free_port()
    front = proxy(folder, port, named)
    try:
        for server in servers:
            server.start()
        front.start()
        pair.resume()
        yield OnLoopback(servers, pair, port)
    finally:
        for service in (front, *(server.service for server in servers)):
            service.kill()
