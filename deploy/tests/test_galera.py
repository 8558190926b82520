"""Three nodes of Galera behind HAProxy, of which one at a time writes."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import MySQLdb
import pytest

from deploy.services import database_proxy, databases, galera
from deploy.services.service import Service, free_port
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.once
PASSWORD = "secret"


class Site:
    """A cluster, the proxy, and a client that notes which of its rows were acknowledged."""

    def __init__(self, cluster: galera.Cluster, proxy: Service, port: int) -> None:
        self.cluster, self.proxy, self.port = cluster, proxy, port
        self.acknowledged = list[int]()
        self.sent = 0

    def writer(self) -> str:
        """Return the name of the node that has written a row; "" if none has."""
        self.sent += 1
        try:
            with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
                cursor.execute("INSERT INTO kept VALUES (%s)", [self.sent])
                connection.commit()
                self.acknowledged.append(self.sent)
                cursor.execute("SELECT @@wsrep_node_name")
                return str(cursor.fetchone()[0])
        except MySQLdb.Error:
            return ""

    def connect(self) -> Any:
        return MySQLdb.connect(
            host="127.0.0.1",
            port=self.port,
            user=databases.DATABASE_USER,
            passwd=PASSWORD,
            db=databases.DATABASE_NAME,
            connect_timeout=2,
            read_timeout=20,
        )


def rows(node: galera.Node) -> set[int]:
    with closing(node.connect(db=databases.DATABASE_NAME)) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id FROM kept")
        return {row[0] for row in cursor.fetchall()}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    if why := galera.missing():
        pytest.skip(why)
    monkeypatch.setenv(databases.MEMORY, "32M")
    with tempfile.TemporaryDirectory(prefix="socialsite-galera-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # MariaDB may run under another account
        cluster = galera.Cluster(folder, galera.on_loopback(3), PASSWORD, durable=False)
        port = free_port()
        nodes = {one.place.name: f"127.0.0.1:{one.place.port}" for one in cluster.nodes}
        proxy = database_proxy.database_proxy(folder, port, free_port(), nodes)
        try:
            cluster.start()
            proxy.start()
            with closing(cluster.nodes[0].connect(db=databases.DATABASE_NAME)) as connection:
                connection.cursor().execute("CREATE TABLE kept (id INT PRIMARY KEY)")
            yield Site(cluster, proxy, port)
        finally:
            proxy.stop()
            cluster.kill()


@pytest.mark.slow(reason="starts a cluster of three servers")
def test_a_killed_writer_costs_no_acknowledged_row_and_gets_no_connections_back(site: Site) -> None:
    first, second, third = site.cluster.nodes
    assert eventually(site.writer) == "node1"
    third.service.kill()
    assert site.writer() == "node1"
    assert "node1 is DOWN" not in "".join(site.proxy.tail)
    third.start()
    site.cluster.wait()
    first.service.kill()
    assert eventually(site.writer) == "node2"
    first.start()
    site.cluster.wait()
    eventually(lambda: list(site.proxy.tail), lambda lines: "node1 is UP" in "".join(lines))
    assert site.writer() == "node2"
    assert {frozenset(rows(node)) for node in site.cluster.nodes} == {frozenset(rows(first))}
    assert rows(first) >= set(site.acknowledged)

    # Alone, a node takes no writes; its proxy knows.
    second.service.kill()
    third.service.kill()
    with closing(first.connect(db=databases.DATABASE_NAME)) as connection:
        eventually(lambda: first.state("wsrep_cluster_status"), lambda found: found != "Primary")
        with pytest.raises(MySQLdb.OperationalError) as refusal:
            connection.cursor().execute("INSERT INTO kept VALUES (1000000)")
    assert refusal.value.args[0] == 1047
    eventually(lambda: list(site.proxy.tail), lambda lines: "no server available" in lines[-1])
    assert site.writer() == ""

    # After all stopped, an operator lets the node begin that has the most.
    first.service.kill()
    galera.mark_to_begin(first)
    first.start(bootstrap=True)
    second.start()
    third.start()
    site.cluster.wait()
    assert eventually(site.writer)
    assert {frozenset(rows(node)) for node in site.cluster.nodes} == {frozenset(rows(first))}
    assert rows(first) >= set(site.acknowledged)


def test_the_first_node_writes_first_and_the_others_wait() -> None:
    text = database_proxy.configuration(
        "127.0.0.1:1", "127.0.0.1:2", {"a": "10.0.0.1:3306", "b": "10.0.0.2:3306"}
    )
    assert "    server a 10.0.0.1:3306\n    server b 10.0.0.2:3306 backup\n" in text
    assert "on-marked-down shutdown-sessions" in text
    assert "$" not in text


def test_the_length_in_the_check_is_that_of_its_query() -> None:
    text = database_proxy.configuration("127.0.0.1:1", "127.0.0.1:2", {"a": "10.0.0.1:3306"})
    heads = re.findall(r"send-binary ([0-9a-f]+)\n", text)
    query = re.search('tcp-check send "(.*)"', text)
    assert query
    head = bytes.fromhex(heads[1])
    assert int.from_bytes(head[:3], "little") == len(query[1]) + 1
    assert head[3:] == b"\0\x03"
    login = bytes.fromhex(heads[0])
    assert int.from_bytes(login[:3], "little") == len(login) - 4


def test_the_configuration_of_a_node_names_all_members_and_its_own_ports(tmp_path: Path) -> None:
    places = galera.on_loopback(3)
    node = galera.Node(tmp_path / "node", places[1], places, PASSWORD)
    text = (tmp_path / "node" / "my.cnf").read_text()
    members = ",".join(f"127.0.0.1:{one.group_port}" for one in places)
    assert f"wsrep-cluster-address = gcomm://{members}\n" in text
    assert f"port = {node.place.port}\n" in text
    assert "innodb-flush-log-at-trx-commit = 1\n" in text
    assert "$" not in text
