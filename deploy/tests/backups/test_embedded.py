"""Back-ups of an embedded site: SQLite."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from deploy.site.backups import making
from deploy.site.backups.making import Site
from deploy.site.backups.sealing import Seal
from deploy.site.backups.sqlite import File
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError
from deploy.tests.backups.support import (
    restore,
)

pytestmark = pytest.mark.once


def test_an_embedded_site_is_copied_while_it_is_written(tmp_path: Path, target: Folder) -> None:
    data_dir = tmp_path / "data"
    (data_dir / "media").mkdir(parents=True)
    path = data_dir / "db.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(
            "CREATE TABLE post (id INTEGER PRIMARY KEY); INSERT INTO post VALUES (1)"
        )
        site = Site(File(path), data_dir)
        state = State(tmp_path / "state", str(target))
        making.full(site, target, Seal(), state, verify=True)
        with pytest.raises(InstallError, match="no log"):
            making.log(site, target, Seal(), state)
        database.execute("DELETE FROM post")
        database.commit()
    restore(site, target, Seal())
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT id FROM post").fetchall() == [(1,)]
