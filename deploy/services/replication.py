"""A primary with replicas that read its log by GTID, each as a `Service`."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.services import databases
from deploy.services.service import Service, ServiceError, free_port
from deploy.services.site_processes import LOOPBACK

PRIMARY = ("--server-id=1", "--log-bin=log", "--binlog-format=ROW", "--gtid-strict-mode=1")


def replica(directory: Path, runtime: Path, port: int, password: str, *, number: int) -> Service:
    """Return MariaDB that only replication writes to; `number` is 1 for the first one."""
    service = databases.mariadb(
        directory,
        runtime,
        port,
        password,
        durable=False,
        options=(f"--server-id={number + 1}", "--read-only=1"),
    )
    service.name = f"replica{number}"
    return service


def follow(port: int, password: str, primary_port: int, *, delay_seconds: int = 0) -> None:
    """Let a new replica read the log of a primary from its beginning."""
    with connected(port, password) as cursor:
        cursor.execute(
            "CHANGE MASTER TO master_host=%s, master_port=%s, master_user=%s, master_password=%s,"
            " master_connect_retry=1, master_use_gtid=slave_pos, master_delay=%s",
            (LOOPBACK, primary_port, databases.DATABASE_USER, password, delay_seconds),
        )
        cursor.execute("START SLAVE")


@dataclass
class Pair:
    """A primary and its replica, and the password of both."""

    primary: Service
    replica: Service
    primary_port: int
    replica_port: int
    password: str

    def url(self, port: int, name: str = databases.DATABASE_NAME) -> str:
        """Return the DATABASE_URL of a server, for a database of this name."""
        return databases.mysql_url(port, self.password, name)

    def tell(self, *statements: str) -> None:
        """Run statements on the replica."""
        with connected(self.replica_port, self.password) as cursor:
            for one in statements:
                cursor.execute(one)

    def catch_up(self) -> None:
        """Return when the replica has applied everything that the primary has written."""
        with connected(self.primary_port, self.password) as cursor:
            cursor.execute("SELECT @@gtid_binlog_pos")
            position = cursor.fetchone()[0]
        with connected(self.replica_port, self.password) as cursor:
            cursor.execute("START SLAVE")
            cursor.execute("SELECT MASTER_GTID_WAIT(%s, 600)", (position,))
            if cursor.fetchone()[0] != 0:
                raise ServiceError("the replica does not catch up")


@contextlib.contextmanager
def pair(folder: Path, *, delay_seconds: int = 0) -> Iterator[Pair]:
    """Run a primary and a replica for a block; the replica applies changes after a delay."""
    ports, password = (free_port(), free_port()), secrets.token_hex(16)
    places = [folder / "primary", folder / "replica"]
    for place in places:
        place.mkdir(mode=0o711)
    primary = databases.mariadb(
        places[0] / "data", places[0], ports[0], password, durable=False, options=PRIMARY
    )
    second = replica(places[1] / "data", places[1], ports[1], password, number=1)
    try:
        for service in (primary, second):
            service.stop_seconds = 2  # no data to save
            service.start()
        follow(ports[1], password, ports[0], delay_seconds=delay_seconds)
        yield Pair(primary, second, *ports, password)
    finally:
        for service in (second, primary):
            service.stop()


@contextlib.contextmanager
def connected(port: int, password: str) -> Iterator[Any]:
    """Return a cursor on a server, as the site's user."""
    import MySQLdb  # installed in the full stack only

    connection = MySQLdb.connect(
        host=LOOPBACK, port=port, user=databases.DATABASE_USER, passwd=password, autocommit=True
    )
    try:
        yield connection.cursor()
    finally:
        connection.close()
