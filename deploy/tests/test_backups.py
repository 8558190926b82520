"""Back-ups of a real MariaDB with its log, and of SQLite."""

import contextlib
import datetime
import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.services import databases
from deploy.services.service import free_port
from deploy.site.backups import making, restoring
from deploy.site.backups.making import Keep, Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal, work_directory
from deploy.site.backups.sqlite import File
from deploy.site.backups.state import State, open_upload
from deploy.site.backups.targets import Folder
from deploy.site.machine import InstallError

pytestmark = pytest.mark.once

NAME = "socialsite"
SECOND = 2_000_000_000  # in 2033
TABLES = """
CREATE TABLE person (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, person INT NOT NULL, words TEXT CHARACTER SET utf8mb4,
  FOREIGN KEY (person) REFERENCES person (id));
INSERT INTO person VALUES (1);
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run a MariaDB with a binary log; tests share it."""
    password = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="socialsite-backup-test-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        port = free_port()
        service = databases.mariadb(folder / "mariadb", folder, port, password, durable=False)
        service.argv = [*service.argv, "--log-bin=site-bin", "--binlog-format=ROW"]
        service.start()
        options = ("--host=127.0.0.1", f"--port={port}", f"--user={databases.DATABASE_USER}")
        try:
            yield Server(NAME, options, {"MYSQL_PWD": password})
        finally:
            service.stop()


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Site:
    """Return a site with one person, one post and one upload."""
    server.query(f"DROP DATABASE IF EXISTS {NAME}; CREATE DATABASE {NAME}")
    server.query(TABLES, NAME)
    server.query("INSERT INTO post VALUES (1, 1, '第一条 🎉')", NAME)
    made = Site(server, tmp_path / "data", (tmp_path / "site.env",))
    (tmp_path / "site.env").write_text("A=1\n")
    upload(made, "ab/one.jpg")
    (made.media / "public" / "ab").mkdir(parents=True)
    os.link(made.media / "ab" / "one.jpg", made.media / "public" / "ab" / "one.jpg")
    return made


@pytest.fixture
def target(tmp_path: Path) -> Folder:
    (tmp_path / "target").mkdir(0o700)
    return Folder(tmp_path / "target")


def test_a_folder_that_is_not_there_may_be_a_disk_that_is_not_mounted(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="mount its disk"):
        Folder(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()


def test_a_second_full_back_up_at_the_same_time_is_refused(state: State) -> None:
    other = State(state.folder, state.target)
    with state.alone(), pytest.raises(InstallError, match="Another full back-up"), other.alone():
        pass
    with other.alone():
        pass


@pytest.fixture
def state(tmp_path: Path, target: Folder) -> State:
    return State(tmp_path / "state", str(target))


def upload(site: Site, name: str) -> None:
    path = site.media / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(name.encode())


def insert(server: Server, number: int, second: int = 0) -> None:
    """Write one post; with `second` that is its time in the log (Unix), else now."""
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
    apply(site, target, seal, restoring.choose(target, to))


def apply(site: Site, target: Folder, seal: Seal, chosen: restoring.Chosen) -> None:
    with work_directory() as work:
        fetched = restoring.fetch(target, seal, chosen, work)
        restoring.database(site, seal, chosen, fetched)


def test_a_full_back_up_restores_everything(
    site: Site, target: Folder, state: State, tmp_path: Path
) -> None:
    making.full(site, target, Seal(), state, verify=True)
    assert isinstance(site.database, Server)
    site.database.query("DELETE FROM post; DELETE FROM person", NAME)
    shutil.rmtree(site.media / "ab")
    restore(site, target, Seal())
    assert site.database.query("SELECT words FROM post", NAME) == [["第一条 🎉"]]
    assert restoring.media(site, target, Seal()) == 1
    assert (site.media / "ab" / "one.jpg").read_bytes() == b"ab/one.jpg"
    chosen = restoring.choose(target, None)
    assert chosen.manifest["verified"]
    (tmp_path / "unpacked").mkdir()
    (unpacked,) = restoring.settings(target, Seal(), chosen, tmp_path / "unpacked")
    assert unpacked.read_text() == "A=1\n"


def test_others_cannot_read_a_back_up(site: Site, target: Folder, state: State) -> None:
    making.full(site, target, Seal(), state, verify=False)
    for path in (target.path, *target.path.rglob("*")):
        assert not path.stat().st_mode & 0o077, path
    assert not (site.data_dir / "backup.json").stat().st_mode & 0o077


def test_writes_are_restored_to_a_second(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every write before the moment is there, and none of it or later; one thread writes meanwhile.

    The test sets the clock of the writes. The server's own events have the real time, before it.
    """
    assert isinstance(site.database, Server)
    server, written, stop = site.database, [1], threading.Event()

    def write(second: int) -> None:
        number = len(written) + 1
        insert(server, number, second)
        written.append(number)

    def write_on() -> None:
        while not stop.is_set():
            write(SECOND)

    clock(monkeypatch, SECOND)
    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        making.full(site, target, Seal(), state, verify=False)
        making.log(site, target, Seal(), state)
    finally:
        stop.set()
        writer.join()
    write(SECOND + 1)
    making.log(site, target, Seal(), state)
    before = list(written)
    write(SECOND + 2)
    write(SECOND + 3)
    clock(monkeypatch, SECOND + 10)
    making.log(site, target, Seal(), state)
    restore(site, target, Seal(), datetime.datetime.fromtimestamp(SECOND + 2, datetime.UTC))
    assert posts(site) == before


def test_without_a_time_everything_copied_is_restored(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(site.database, Server)
    clock(monkeypatch, SECOND)
    making.full(site, target, Seal(), state, verify=False)
    insert(site.database, 2, SECOND)  # in the very second of the copy
    upload(site, "cd/two.jpg")
    assert making.log(site, target, Seal(), state)
    assert making.log(site, target, Seal(), state) == 0
    insert(site.database, 3, SECOND)
    restore(site, target, Seal())
    assert posts(site) == [1, 2]
    assert "media/cd/two.jpg.zst" in set(target.names("media"))


def test_a_gap_in_the_log_and_a_time_that_was_not_copied_are_errors(
    site: Site, target: Folder, state: State
) -> None:
    assert isinstance(site.database, Server)
    with pytest.raises(InstallError, match="has no full back-up"):
        restoring.choose(target, None)
    making.full(site, target, Seal(), state, verify=False)
    for number in (2, 3, 4):
        insert(site.database, number)
        making.log(site, target, Seal(), state)
    later = making.now() + datetime.timedelta(hours=1)
    with pytest.raises(InstallError, match="The copied log ends at"):
        restoring.choose(target, later)
    with pytest.raises(InstallError, match="has no full back-up before"):
        restoring.choose(target, later - datetime.timedelta(days=1))
    logs = sorted(name for name in target.names("log") if not name.endswith(making.UNTIL))
    target.delete(logs[-2])
    with pytest.raises(InstallError, match="has a gap"):
        restoring.choose(target, None)


def test_a_damaged_back_up_is_noticed(site: Site, target: Folder, state: State) -> None:
    assert isinstance(site.database, Server)
    site.database.query("SET FOREIGN_KEY_CHECKS=0; INSERT INTO post VALUES (2, 99, 'x')", NAME)
    with pytest.raises(InstallError, match=r"post.person: 1 rows"):
        making.full(site, target, Seal(), state, verify=True)
    assert making.manifests(target) == {}
    found = site.database.query("SHOW DATABASES")
    assert [making.SCRATCH] not in found


@pytest.fixture
def age_key(tmp_path: Path) -> Seal:
    path = tmp_path / "key.txt"
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    text = subprocess.run(
        ["age-keygen", "-y", path], check=True, capture_output=True, text=True
    ).stdout
    return Seal(text.strip(), str(path))


def test_a_back_up_for_a_key_needs_its_private_half(
    site: Site, target: Folder, state: State, age_key: Seal, tmp_path: Path
) -> None:
    assert isinstance(site.database, Server)
    public = Seal(age_key.recipient)
    making.full(site, target, public, state, verify=True)
    assert all(
        name.endswith((".zst.age", making.MANIFEST, "/media.zst"))
        for folder in ("full", "media")
        for name in target.names(folder)
    )
    chosen = restoring.choose(target, None)
    assert chosen.manifest["verified"] == ""  # this machine cannot read it
    other = Seal(age_key.recipient, str(tmp_path / "other.txt"))
    subprocess.run(["age-keygen", "-o", other.identity], check=True, capture_output=True)
    for seal, text in ((public, "--identity"), (other, "no identity matched")):
        with pytest.raises(InstallError, match=text):
            apply(site, target, seal, chosen)
        assert posts(site) == [1], "nothing may be deleted"
    insert(site.database, 2)
    apply(site, target, age_key, chosen)
    assert posts(site) == [1]


def test_a_back_up_for_a_key_of_gnupg(
    site: Site, target: Folder, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as home:  # its socket needs a short path
        monkeypatch.setenv("GNUPGHOME", home)
        new = ("--quick-generate-key", "operator@example.org", "default", "default", "never")
        subprocess.run(
            ["gpg", "--batch", "--passphrase", "", *new], check=True, capture_output=True
        )
        seal = Seal("operator@example.org")
        making.full(site, target, seal, state, verify=False)
        assert isinstance(site.database, Server)
        site.database.query("DELETE FROM post", NAME)
        restore(site, target, seal)
        assert posts(site) == [1]
        subprocess.run(["gpgconf", "--kill", "all"], check=True)


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that makes it this many days after the first of January."""
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def set_day(number: float) -> None:
        monkeypatch.setattr(making, "now", lambda: begin + datetime.timedelta(days=number))

    return set_day


LAST = Keep(daily=1, weekly=0, monthly=0)


def test_old_back_ups_are_deleted_with_what_only_they_needed(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    assert isinstance(site.database, Server)
    for number in range(3):
        day(2 * number)
        making.full(site, target, Seal(), state, verify=False)
        insert(site.database, number + 2)
        making.log(site, target, Seal(), state)
    before = len(list(target.names("log")))
    gone = making.forget(target, LAST, state)
    assert gone == ["full/20260101T000000Z", "full/20260103T000000Z"]
    assert list(making.manifests(target)) == ["full/20260105T000000Z"]
    assert len(list(target.names("log"))) < before
    restore(site, target, Seal())
    assert not (target.path / "full" / "20260101T000000Z").exists()


def test_a_machine_that_was_installed_anew_deletes_nothing_of_the_lost_one(
    site: Site, target: Folder, state: State, tmp_path: Path, day: Callable[[float], None]
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    making.log(site, target, Seal(), state)
    before = set(target.names("."))
    new = State(tmp_path / "new", str(target))
    for number in (100, 200):
        day(number)
        making.full(site, target, Seal(), new, verify=False)
    assert len(making.forget(target, LAST, new)) == 1
    assert before <= set(target.names("."))


def test_recent_ones_and_the_newest_of_each_day_week_and_month_stay() -> None:
    start = datetime.datetime(2026, 1, 1, 3, tzinfo=datetime.UTC)
    names = [
        (start + datetime.timedelta(hours=12 * half)).strftime(f"full/{making.STAMP}")
        for half in range(200)
    ]
    kept = sorted(making.chosen(names, Keep(daily=4, weekly=2, monthly=2)))
    assert kept == [
        "full/20260331T150000Z",
        "full/20260405T150000Z",
        "full/20260407T150000Z",
        "full/20260408T150000Z",
        "full/20260409T030000Z",
        "full/20260409T150000Z",
        "full/20260410T030000Z",
        "full/20260410T150000Z",
    ]
    assert making.chosen([], Keep()) == set()


def test_an_upload_that_is_deleted_later_stays_as_long_as_a_back_up_lists_it(
    site: Site, target: Folder, state: State, day: Callable[[float], None]
) -> None:
    for number in range(4):
        day(2 * number)
        making.full(site, target, Seal(), state, verify=False)
        making.forget(target, LAST, state)
        # The first two list it: it was deleted between them.
        assert bool(list(target.names("media"))) == (number < 2)
        (site.media / "ab" / "one.jpg").unlink(missing_ok=True)


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


def test_root_follows_no_link_and_waits_for_no_pipe_of_the_site(
    site: Site, target: Folder, state: State, tmp_path: Path
) -> None:
    """The account of the site owns the folders that root reads and writes."""
    secret = tmp_path / "secret"
    secret.write_text("of root")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "four.jpg").write_text("of root")
    (site.media / "ab" / "two.jpg").symlink_to(secret)
    os.mkfifo(site.media / "ab" / "three.jpg")
    (site.media / "cd").symlink_to(tmp_path / "elsewhere")
    (site.data_dir / ".backup.json.part").symlink_to(secret)
    making.full(site, target, Seal(), state, verify=False)
    assert list(target.names("media")) == ["media/ab/one.jpg.zst"]
    assert secret.read_text() == "of root"
    for name in ("ab/two.jpg", "ab/three.jpg", "cd/four.jpg"):
        with pytest.raises(FileNotFoundError):
            open_upload(site.media, name)
    (site.media / "ab").rename(site.media / "old")
    (site.media / "ab").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InstallError, match="no folder of uploads"):
        restoring.media(site, target, Seal())


def test_an_upload_that_the_target_lost_is_copied_again(
    site: Site, target: Folder, state: State
) -> None:
    making.full(site, target, Seal(), state, verify=False)
    target.delete("media/ab/one.jpg.zst")
    making.full(site, target, Seal(), state, verify=False)
    assert list(target.names("media")) == ["media/ab/one.jpg.zst"]
