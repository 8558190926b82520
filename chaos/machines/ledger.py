"""What was acknowledged while servers of a database failed, and what of it each server has."""

import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import MySQLdb

from chaos.machines.load import Load
from chaos.machines.nodes import Nodes
from chaos.machines.visitor import Visitor
from deploy.services import databases

PROBE_SECONDS = 0.2
FOLLOW_SECONDS = 0.2
FOLLOWS = (0, 4)  # relations.models.Relation: following, and both follow each other


class Fickle:
    """Somebody who follows and unfollows others in turn.

    `follows` has what was acknowledged last; None after a request that nobody answered.
    """

    def __init__(self, person: Visitor, name: str, others: list[int]) -> None:
        if not person.sign_up(name):
            raise SystemExit(f"{name} could not sign up")
        self._person, self.name = person, name
        self.follows: dict[int, bool | None] = dict.fromkeys(others, False)
        self.acknowledged = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            for other in self.follows:
                wanted = not self.follows[other]
                self.follows[other] = None
                with suppress(OSError):
                    method = "POST" if wanted else "DELETE"
                    answer = self._person.send(method, f"/api/v1/users/{other}/follow")
                    if 200 <= answer.status < 300:
                        self.follows[other] = wanted
                        self.acknowledged += 1
                self._stop.wait(FOLLOW_SECONDS)


@dataclass
class Probes:
    """Writes straight to each server, one after the other, while `active`.

    `acknowledged` has each row with the time at which it was sent; `forbidden` those that a server
    acknowledged although it had lost the right to write.
    """

    nodes: Nodes
    acknowledged: dict[str, float] = field(default_factory=dict)
    forbidden: list[str] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    active: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, first: Any) -> None:
        """Make the table by a connection to the writer, and begin."""
        cursor = first.cursor()
        cursor.execute("CREATE DATABASE probes")
        cursor.execute("CREATE TABLE probes.probe (name VARCHAR(40) PRIMARY KEY) ENGINE=InnoDB")
        for number in range(self.nodes.number):
            self._threads.append(threading.Thread(target=self._run, args=(number,)))
            self._threads[-1].start()

    def stop(self) -> None:
        """End."""
        self._over.set()
        self.active.set()
        for thread in self._threads:
            thread.join()

    def lost(self, connection: Any) -> list[str]:
        """Return the acknowledged rows that a server does not have."""
        rows = {row[0] for row in _rows(connection, "SELECT name FROM probes.probe")}
        return [f"probe {name}" for name in self.acknowledged if name not in rows]

    def _run(self, number: int) -> None:
        count = 0
        while self.active.wait() and not self._over.is_set():
            count += 1
            self._write(number, f"{number} {count}")
            time.sleep(PROBE_SECONDS)

    def _write(self, number: int, name: str) -> None:
        since, began = self.nodes.refuses_since(number), time.time()
        try:
            with closing(self.nodes.connect(number)) as connection:
                connection.cursor().execute("INSERT INTO probes.probe VALUES (%s)", [name])
                connection.commit()
        except MySQLdb.Error as error:
            self.refused[error.args[0]] += 1
            return
        self.acknowledged[name] = began
        # Still without the right to write: the links were not mended meanwhile.
        if since is not None and self.nodes.refuses_since(number) == since:
            self.forbidden.append(f"{name} at {began:.1f}, without the right since {since:.1f}")


def lost(connection: Any, load: Load, fickle: Fickle) -> list[str]:
    """Return the acknowledged writes that a server does not have, or has twice."""
    posts = Counter(row[0] for row in _rows(connection, "SELECT content FROM feeds_postcontent"))
    likes = set(
        _rows(
            connection,
            "SELECT u.username, l.subj_id FROM interactions_like l"
            " JOIN accounts_user u ON u.id = l.user_id",
        )
    )
    relations = dict(
        _rows(
            connection,
            "SELECT r.to_user_id, r.relation FROM relations_relationship r"
            " JOIN accounts_user u ON u.id = r.from_user_id WHERE u.username = %s",
            fickle.name,
        )
    )
    texts = [text for writer in load.writers for text in writer.times]
    return [
        *(f"post {text}: {posts[text]} times" for text in texts if posts[text] != 1),
        *(f"like {like}" for like in load.likes if like not in likes),
        *(
            f"follow of {other} should be {wanted}, is {relations.get(other)}"
            for other, wanted in fickle.follows.items()
            if wanted is not None and (relations.get(other) in FOLLOWS) != wanted
        ),
    ]


def checksums(connection: Any) -> dict[str, int]:
    """Return the checksum of each table of the site and of the probes."""
    tables = _rows(
        connection,
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables"
        " WHERE table_schema IN (%s, 'probes') ORDER BY 1",
        databases.DATABASE_NAME,
    )
    names = ", ".join(row[0] for row in tables)
    return dict(_rows(connection, f"CHECKSUM TABLE {names}"))


def _rows(connection: Any, query: str, *values: str) -> list[Any]:
    with closing(connection.cursor()) as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())
