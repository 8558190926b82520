"""Databases with all migrations applied, made once and copied by tests: migrations take long.

`ensure()` makes them unless they exist, in a directory whose name is a hash of everything that they
are made from, and returns the environment that tells processes where they are. Without it, each
process migrates a database of its own, with the same result.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deploy.services import databases
from deploy.services.service import free_port
from deploy.services.site_processes import LOOPBACK, PROJECT_DIR, environment, program, python

# The environment variables: a file of SQLite, and the data directory of a stopped MariaDB with
# the database of a site and the one of tests.
SQLITE, MARIADB = "MIGRATED_SQLITE", databases.TEMPLATE
TEST_DATABASE = f"test_{databases.DATABASE_NAME}"
# No migration needs Redis.
NO_REDIS = {"REDIS_URL": "redis://127.0.0.1:1/0", "BROKER_URL": "redis://127.0.0.1:1/1"}
CACHE = PROJECT_DIR / ".pytest_cache" / "migrated"


def ensure() -> dict[str, str]:
    """Return the environment with the paths of both databases, and make them at first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with _locked(CACHE / "lock"):
        found = CACHE / _origin()
        if not found.exists():
            for old in CACHE.glob("[0-9a-f]*"):
                shutil.rmtree(old)
            with tempfile.TemporaryDirectory(prefix="socialsite-migrated-") as name:
                made = Path(name)
                made.chmod(0o711)  # MariaDB may run under another account
                (made / "run").mkdir(mode=0o711)
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(lambda make: make(made), (_sqlite, _mariadb)))
                # Renamed when it is whole: a copy that was interrupted is never used.
                shutil.rmtree(CACHE / "new", ignore_errors=True)
                shutil.copytree(made, CACHE / "new", ignore=shutil.ignore_patterns("run"))
                (CACHE / "new").rename(found)
    return {SQLITE: str(found / "db.sqlite3"), MARIADB: str(found / "mariadb" / "data")}


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _origin() -> str:
    """Return a hash of the migrations, this code, the packages and the server."""
    server = subprocess.run(
        [program("mariadbd", "mysqld"), "--version"], capture_output=True, check=True
    )
    digest = hashlib.sha256(server.stdout)
    files = [
        *PROJECT_DIR.glob("*/migrations/*.py"),
        *PROJECT_DIR.glob("*/*/migrations/*.py"),
        *(PROJECT_DIR / "deploy" / "services").glob("*.py"),
        PROJECT_DIR / "requirements" / "lock" / "base.txt",
    ]
    for path in sorted(files):
        digest.update(f"{path.relative_to(PROJECT_DIR)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _migrate(env: dict[str, str]) -> None:
    subprocess.run(
        python("manage.py", "migrate", "--verbosity=0"),
        env={**environment(), **env},
        cwd=PROJECT_DIR,
        check=True,
    )


def _sqlite(made: Path) -> None:
    _migrate({"DATA_DIR": str(made / "run" / "sqlite")})
    shutil.copy(made / "run" / "sqlite" / "db.sqlite3", made)
    with contextlib.closing(sqlite3.connect(made / "db.sqlite3")) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")  # one file, which can be copied


def _mariadb(made: Path) -> None:
    port, password = free_port(), secrets.token_hex(16)
    server = databases.mariadb(made / "mariadb", made / "run", port, password, durable=False)
    server.start()
    try:
        url = databases.mysql_url(port, password)
        _migrate({"DATABASE_URL": url, **NO_REDIS, "DATA_DIR": str(made / "run" / "mysql")})
        databases.create_database(url, TEST_DATABASE)
        login = [f"--host={LOOPBACK}", f"--port={port}", f"--user={databases.DATABASE_USER}"]
        env = {**os.environ, "MYSQL_PWD": password}
        dump = [program("mariadb-dump"), *login, databases.DATABASE_NAME]
        text = subprocess.run(dump, env=env, capture_output=True, check=True).stdout
        load = [program("mariadb"), *login, TEST_DATABASE]
        subprocess.run(load, env=env, input=text, check=True)
    finally:
        server.stop()
