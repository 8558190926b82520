"""What a second copy of the database costs a write: `make bench ARGS=replicated_writes`.

The same transaction, an insertion and its commit, on one server, on one of three nodes of Galera,
and on a primary that waits for its replica. All flush each commit to the disk of this one machine,
and no network is between them, so the ratio is a lower bound for servers that are far apart.
"""

import contextlib
import itertools
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import MySQLdb

from bench.support import harness
from deploy.services import databases, galera, semisync
from deploy.services.service import free_port

ONE, GALERA, PAIR = "one server", "Galera, three nodes", "pair, semi-synchronous"


@contextlib.contextmanager
def one_server(folder: Path, password: str) -> Iterator[Any]:
    """Run one server; yields a connection."""
    port = free_port()
    service = databases.mariadb(folder / "data", folder, port, password)
    try:
        service.start()
        yield MySQLdb.connect(
            host="127.0.0.1", port=port, user=databases.DATABASE_USER, passwd=password
        )
    finally:
        service.kill()


@contextlib.contextmanager
def galera_writer(folder: Path, password: str) -> Iterator[Any]:
    """Run three nodes; yields a connection to the first one."""
    cluster = galera.Cluster(folder, galera.on_loopback(3), password)
    try:
        cluster.start()
        yield cluster.nodes[0].connect()
    finally:
        cluster.kill()


@contextlib.contextmanager
def primary(folder: Path, password: str) -> Iterator[Any]:
    """Run a primary and its replica; yields a connection to the primary."""
    with semisync.on_loopback(folder, password) as site:
        first, second = site.servers
        second.copy_from(first)
        site.pair.rejoin()
        yield first.connect()


def writing(connection: Any) -> Callable[[], None]:
    """Return a function that commits one row."""
    cursor = connection.cursor()
    cursor.execute("CREATE DATABASE measured")
    cursor.execute("CREATE TABLE measured.row (id INT PRIMARY KEY, text TEXT) ENGINE=InnoDB")
    numbers = itertools.count()

    def write() -> None:
        cursor.execute("INSERT INTO measured.row VALUES (%s, %s)", [next(numbers), "x" * 200])
        connection.commit()

    return write


def main() -> int:
    """Measure and report."""
    options = harness.arguments("The cost of a second copy.", {"--writes": 1000})
    report = harness.Report("replicated_writes", options)
    kinds: dict[str, Callable[[Path, str], Any]] = {ONE: one_server, PAIR: primary}
    if why := galera.missing():
        print(f"without Galera: {why}")
    else:
        kinds[GALERA] = galera_writer
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-two-")))
        folder.chmod(0o711)  # MariaDB may run under another account
        calls = {}
        for number, (name, start) in enumerate(kinds.items()):
            own = folder / str(number)
            own.mkdir(0o711)
            connection = stack.enter_context(start(own, secrets.token_hex(8)))
            calls[name] = writing(connection)
        report.table(harness.interleave(calls, rounds=options.writes), floor=ONE)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
