"""Back-ups of an embedded site: SQLite."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from deploy.site import exclusive
from deploy.site.__main__ import parser
from deploy.site.backups import commands, making, restoring
from deploy.site.backups.making import Site
from deploy.site.backups.sealing import Seal
from deploy.site.backups.sqlite import File
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError
from deploy.tests.backups.support import restore

pytestmark = pytest.mark.once


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    (path / "media").mkdir(parents=True)
    return path


def test_an_embedded_site_is_copied_while_it_is_written(
    data_dir: Path, tmp_path: Path, target: Folder
) -> None:
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


def test_a_running_embedded_site_is_not_restored(data_dir: Path, target: Folder) -> None:
    path = data_dir / "db.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE post (id INTEGER PRIMARY KEY)")
    where = ["--data-dir", str(data_dir), "--target", str(target)]
    assert commands.backup(parser().parse_args(["backup", *where])) == 0
    before = State(data_dir / "backup-state", str(target))
    with before.locked():
        site, lineage = before.site, before.lineage
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE post")
    restoration = parser().parse_args(["restore", "--yes", *where])
    with exclusive.stopped(data_dir), pytest.raises(InstallError, match="runs: stop it first"):
        commands.restore(restoration)  # as by `manage.py serve`, which has this lock
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == []
    assert commands.restore(restoration) == 0
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("post",)]
    after = State(data_dir / "backup-state", str(target))
    with after.locked():
        assert after.site == site
        assert after.lineage != lineage
    manifest = restoring.choose(target, Seal(), None).manifest
    assert manifest["host"].endswith(f":{data_dir}")


def test_the_command_says_how_good_a_back_up_is_and_where_others_are(
    data_dir: Path, tmp_path: Path, target: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(sqlite3.connect(data_dir / "db.sqlite3")) as database:
        database.execute("CREATE TABLE post (id INTEGER PRIMARY KEY)")
    (tmp_path / "second").mkdir()

    def said(*words: str) -> list[str]:
        words = ("backup", "--data-dir", str(data_dir), *words)
        assert commands.backup(parser().parse_args(words)) == 0
        return [line.partition(" in ")[2] or line for line in capsys.readouterr().out.splitlines()]

    checked = "restored into a scratch database for a check"
    assert said("--target", str(target)) == [f"{target}, not encrypted, {checked}"]
    second = str(tmp_path / "second")
    assert said("--target", second, "--no-verify") == [
        f"{second}, not encrypted, not checked",
        f"Earlier back-ups, with keys, stay until you delete them: {target}",
    ]
