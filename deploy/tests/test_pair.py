"""A primary that confirms what its replica has, and the program that gives the two their roles."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import MySQLdb
import pytest

from deploy.pair import Pair, PairError, Server, State
from deploy.services import databases, semisync

pytestmark = pytest.mark.once
PASSWORD = "secret"


@dataclass
class Site:
    """Two servers, the program, and the port of the proxy."""

    servers: list[semisync.Node]
    pair: Pair
    port: int

    def write(self, number: int, port: int | None = None) -> None:
        """Write a row through the proxy, or straight to a port."""
        connection = MySQLdb.connect(
            host="127.0.0.1",
            port=port or self.port,
            user=databases.DATABASE_USER,
            passwd=PASSWORD,
            db=databases.DATABASE_NAME,
            connect_timeout=2,
            read_timeout=2 if port else 20,
        )
        with closing(connection):
            connection.cursor().execute("INSERT INTO kept VALUES (%s)", [number])
            connection.commit()


def rows(server: semisync.Node) -> list[int]:
    with closing(server.connect(db=databases.DATABASE_NAME)) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id FROM kept ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv(databases.MEMORY, "32M")
    with tempfile.TemporaryDirectory(prefix="socialsite-pair-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # MariaDB may run under another account
        with semisync.on_loopback(folder, PASSWORD) as running:
            first, second = running.servers
            found = Site(running.servers, running.pair, running.port)
            with closing(first.connect(db=databases.DATABASE_NAME)) as connection:
                connection.cursor().execute("CREATE TABLE kept (id INT PRIMARY KEY) ENGINE=InnoDB")
            found.write(1)
            second.copy_from(first)
            found.pair.rejoin()
            yield found


@pytest.mark.slow(reason="starts two servers, and one of them again")
def test_a_primary_that_was_replaced_confirms_nothing_and_loses_only_that(site: Site) -> None:
    old, new = site.servers
    site.write(2)
    assert site.pair.beat()
    with pytest.raises(PairError, match="run promote"):
        site.pair.resume()
    site.pair.promote()
    site.write(3)
    with pytest.raises(PairError, match="may miss writes"):
        site.pair.promote()
    # The old primary takes a write of somebody who reaches it, and cannot confirm it.
    with pytest.raises(MySQLdb.OperationalError):
        site.write(4, old.place.server.port)
    assert rows(old) == [1, 2]
    assert rows(new) == [1, 2, 3]

    old.service.kill()
    old.start(after_promotion=True)
    site.pair.rejoin()
    assert site.pair.state == State("b", complete=True)
    site.write(5)
    site.pair.wait()
    assert rows(old) == rows(new) == [1, 2, 3, 5]

    # Both stop; the primary is still the one that writes.
    for server in (old, new):
        server.service.kill()
    for server in (old, new):
        server.start()
    assert not site.pair.beat()
    site.pair.rejoin()
    assert site.pair.beat()
    site.write(6)
    assert rows(new) == [1, 2, 3, 5, 6]


@pytest.mark.slow(reason="starts two servers, and one of them again")
def test_a_server_with_another_history_does_not_rejoin(site: Site) -> None:
    old, new = site.servers
    site.pair.promote()
    with pytest.raises(MySQLdb.OperationalError):
        site.write(2, old.place.server.port)
    old.service.kill()
    old.start()  # as a primary: it keeps what was never confirmed
    site.write(3)
    with pytest.raises(PairError, match="build it anew"):
        site.pair.rejoin()
    assert not site.pair.state.complete
    old.service.kill()
    old.wipe()
    old.start()
    old.copy_from(new)
    site.pair.rejoin()
    assert rows(old) == rows(new) == [1, 3]


@pytest.mark.slow(reason="starts two servers, and one of them again")
def test_without_a_replica_nothing_is_confirmed_until_an_operator_says_so(site: Site) -> None:
    primary, replica = site.servers
    replica.service.kill()
    assert not site.pair.beat()
    assert site.pair.act() == "alone"
    site.write(2)
    replica.start()
    with pytest.raises(PairError, match="may miss writes"):
        site.pair.promote()
    site.pair.rejoin()
    assert rows(replica) == rows(primary) == [1, 2]
    # A replica that started again may have lost what it had not applied.
    replica.service.kill()
    replica.start()
    with pytest.raises(PairError, match="may miss writes"):
        site.pair.promote()
    assert site.pair.act() == "rejoin"
    site.pair.promote()
    assert rows(replica) == [1, 2]


def test_haproxy_sends_everything_to_the_server_of_the_map(tmp_path: Path) -> None:
    text = semisync.configuration(
        "127.0.0.1:1", tmp_path, {"a": Server("10.0.0.1", 3306, "10.0.1.1")}
    )
    assert f"use_backend %[str(primary),map({tmp_path}/primary.map)]" in text
    assert "backend a\n    server a 10.0.0.1:3306\n" in text
    assert "$" not in text


def test_both_servers_have_one_configuration_but_for_their_number(tmp_path: Path) -> None:
    server = Server("127.0.0.1", 1, "127.0.0.1")
    found = []
    for number in (1, 2):
        semisync.Node(tmp_path / str(number), semisync.Place("x", number, server), PASSWORD)
        text = (tmp_path / str(number) / "my.cnf").read_text()
        found.append(text.replace(str(tmp_path / str(number)), ""))
        assert "$" not in text
    assert found[0] != found[1]
    assert found[0].replace("server-id = 1", "server-id = 2") == found[1]
