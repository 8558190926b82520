"""A real MariaDB with a binary log, a site that uses it, and an empty target."""

import datetime
import os
import secrets
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.services import databases
from deploy.services.service import free_port
from deploy.site.backups import making
from deploy.site.backups.making import Site
from deploy.site.backups.mariadb import Server
from deploy.site.backups.sealing import Seal
from deploy.site.backups.state import State
from deploy.site.backups.targets import Folder
from deploy.tests.backups.support import NAME, TABLES, upload


@pytest.fixture(scope="package")
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


@pytest.fixture
def state(tmp_path: Path, target: Folder) -> State:
    return State(tmp_path / "state", str(target))


@pytest.fixture
def age_key(tmp_path: Path) -> Seal:
    path = tmp_path / "key.txt"
    subprocess.run(["age-keygen", "-o", path], check=True, capture_output=True)
    text = subprocess.run(
        ["age-keygen", "-y", path], check=True, capture_output=True, text=True
    ).stdout
    return Seal(text.strip(), str(path))


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that makes it this many days after the first of January."""
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def set_day(number: float) -> None:
        monkeypatch.setattr(making, "now", lambda: begin + datetime.timedelta(days=number))

    return set_day
