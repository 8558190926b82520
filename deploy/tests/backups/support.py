"""What the tests of back-ups share: a site with one person, one post and one upload."""

import datetime

import pytest

from deploy.site.backups import making, restoring
from deploy.site.backups.making import Keep, Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal, work_directory
from deploy.site.backups.targets import Folder

NAME = "socialsite"
SECOND = 2_000_000_000  # in 2033
TABLES = """
CREATE TABLE person (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, person INT NOT NULL, words TEXT CHARACTER SET utf8mb4,
  FOREIGN KEY (person) REFERENCES person (id));
INSERT INTO person VALUES (1);
"""


def upload(site: Site, name: str) -> None:
    path = site.media / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(name.encode())


def insert(server: Server, number: int, second: int = 0) -> None:
    """Write one post; with `second` that is its time in the log (Unix).

    Else that is now, or later: a thread of MariaDB that had another client's time goes on from it.
    """
    row = f"INSERT INTO post VALUES ({number}, 1, 'x')"  # noqa: S608
    server.query(f"SET TIMESTAMP={second or 'DEFAULT'}; {row}", NAME)


def clock(monkeypatch: pytest.MonkeyPatch, second: int) -> None:
    """Make it this time (Unix seconds) for back-ups."""
    time = datetime.datetime.fromtimestamp(second, datetime.UTC)
    monkeypatch.setattr(making, "now", lambda: time)


def posts(site: Site) -> list[int]:
    assert isinstance(site.database, Server)
    return [int(row[0]) for row in site.database.query("SELECT id FROM post ORDER BY id", NAME)]


def restore(site: Site, target: Folder, seal: Seal, to: datetime.datetime | None = None) -> None:
    apply(site, target, seal, restoring.choose(target, seal, to))


def apply(site: Site, target: Folder, seal: Seal, chosen: restoring.Chosen) -> None:
    with work_directory() as work:
        fetched = restoring.fetch(target, seal, chosen, work)
        restoring.database(site, seal, chosen, fetched)


LAST = Keep(daily=1, weekly=0, monthly=0)
