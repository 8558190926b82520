"""MariaDB and Redis, each as a `Service`.

Both listen on loopback or on a socket in a private directory. Redis stores nothing on disk here:
MySQL is the only source of truth, and a restart must not restore old sign-in state.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from deploy.services.service import Service, ServiceError, chown, private, unprivileged_account
from deploy.services.site_processes import LOOPBACK, program

DATABASE_NAME = "socialsite"
DATABASE_USER = "socialsite"
# The environment variable of the memory for tables and indexes.
MEMORY = "DATABASE_MEMORY"
# The environment variable of the data directory of a stopped server that a new one begins with.
TEMPLATE = "MIGRATED_MARIADB"
COLLATION = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


_MARIADB_OPTIONS = (
    "--skip-name-resolve",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_bin",
    "--transaction-isolation=READ-COMMITTED",
    "--local-infile=0",
)


# --- MariaDB ------------------------------------------------------------------------------------
def mariadb(
    directory: Path,
    runtime: Path,
    port: int,
    password: str,
    *,
    durable: bool = True,
    max_connections: int = 300,
    options: Sequence[str] = (),
) -> Service:
    """MariaDB with its data in `directory`, created on first use, and one user for the site.

    `durable=False` lets the kernel write the log within a second (for tests): a killed server still
    loses nothing, a power failure may. The user may create databases, as a test run must. `options`
    are further ones of the server.
    """
    account = unprivileged_account(directory)
    user = f"--user={account or 'root'}" if os.geteuid() == 0 else None
    data = directory / "data"
    private(directory, account)
    work = private(runtime / "mariadb", account)
    if not (data / "mysql").exists():
        create_data(data, work, account)
    argv = [
        program("mariadbd", "mysqld"),
        "--no-defaults",
        f"--datadir={data}",
        f"--tmpdir={work}",
        f"--socket={work / 'sock'}",
        f"--pid-file={work / 'pid'}",
        f"--port={port}",
        f"--bind-address={LOOPBACK}",
        f"--init-file={_init_file(runtime, password, account)}",
        f"--max-connections={max_connections}",
        f"--innodb-buffer-pool-size={memory()}",
        f"--innodb-flush-log-at-trx-commit={1 if durable else 2}",
        *(*_MARIADB_OPTIONS, *([user] if user else []), *options),
    ]
    return Service(
        name="database",
        argv=argv,
        ready=lambda: _mysql_answers(port, password),
        account=account,
        stop_seconds=60,
        essential=True,
    )


def create_data(data: Path, work: Path, account: str | None) -> None:
    """Create the data directory of a server, or copy the one that the environment names."""
    if template := os.environ.get(TEMPLATE):
        _copy_mariadb(Path(template), data, account)
    else:
        _install_mariadb(data, work, account)


def memory() -> str:
    """Return the memory that MariaDB uses for tables, from the environment."""
    value = os.environ.get(MEMORY) or "256M"
    if not re.fullmatch("[1-9][0-9]{0,5}[MG]", value):
        raise ServiceError(f"{MEMORY} must be a number of M or G, such as 2G")
    return value


def _install_mariadb(data: Path, work: Path, account: str | None) -> None:
    done = subprocess.run(
        [
            program("mariadb-install-db", "mysql_install_db"),
            "--no-defaults",
            f"--datadir={data}",
            # a starting server empties its own tmpdir, so it must not be shared
            f"--tmpdir={work}",
            "--skip-test-db",
            "--force",  # works on machines that cannot resolve their own name
            "--auth-root-authentication-method=socket",
            *([f"--user={account or 'root'}"] if os.geteuid() == 0 else []),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(data, ignore_errors=True)
        raise ServiceError(f"the database could not be created:\n{done.stdout}{done.stderr}")


def _copy_mariadb(template: Path, data: Path, account: str | None) -> None:
    shutil.copytree(template, data)
    for path in (data, *data.rglob("*")):
        chown(path, account)


def _init_file(runtime: Path, password: str, account: str | None) -> Path:
    """Write the statements of every start: the database, and its user with this password."""
    # The account may differ from the last run (root now, a person then).
    init = runtime / "mariadb-init.sql"
    init.touch(mode=0o600)
    init.write_text(
        # A replica runs these lines itself: between two of them it would refuse its own account.
        "SET sql_log_bin = 0;\n"
        f"CREATE DATABASE IF NOT EXISTS {DATABASE_NAME} {COLLATION};\n"
        f"CREATE OR REPLACE USER '{DATABASE_USER}'@'{LOOPBACK}' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO '{DATABASE_USER}'@'{LOOPBACK}';\n"
        # A read-only database must be so for the site. MySQL takes this line for a comment.
        f"/*M!100502 REVOKE READ ONLY ADMIN ON *.* FROM '{DATABASE_USER}'@'{LOOPBACK}' */;\n"
    )
    chown(init, account)
    return init


def _mysql_answers(port: int, password: str) -> bool:
    import MySQLdb  # installed in the full stack only

    try:
        connection = MySQLdb.connect(
            host=LOOPBACK, port=port, user=DATABASE_USER, passwd=password, connect_timeout=1
        )
    except MySQLdb.Error:
        return False
    connection.close()
    return True


def mysql_url(port: int, password: str, name: str = DATABASE_NAME, *, host: str = LOOPBACK) -> str:
    """Return the DATABASE_URL of a `mariadb` service."""
    return f"mysql://{DATABASE_USER}:{password}@{host}:{port}/{name}"


def create_database(url: str, name: str) -> str:
    """Create an empty database on the server of a DATABASE_URL, replacing one of that name.

    Returns the DATABASE_URL of the new database; for tests that run their own processes.
    """
    import MySQLdb

    parts = urlsplit(url)
    with contextlib.closing(
        MySQLdb.connect(
            host=parts.hostname or LOOPBACK,
            port=parts.port or 3306,
            user=parts.username or "",
            passwd=parts.password or "",
        )
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
        cursor.execute(f"CREATE DATABASE `{name}` {COLLATION}")
    return parts._replace(path=f"/{name}").geturl()


# --- Redis --------------------------------------------------------------------------------------
def redis_cache(runtime: Path, port: int, password: str, *, megabytes: int = 256) -> Service:
    """The cache: bounded, evicts the least recently used keys, stores nothing on disk."""
    policy = {"maxmemory": f"{megabytes}mb", "maxmemory-policy": "allkeys-lru"}
    return _redis("cache", runtime, port, password, policy)


def redis_broker(runtime: Path, port: int, password: str) -> Service:
    """The Celery broker: never evicts a message."""
    return _redis("broker", runtime, port, password, {"maxmemory-policy": "noeviction"})


def _redis(
    name: str, runtime: Path, port: int, password: str, options: Mapping[str, str]
) -> Service:
    work = runtime / name
    work.mkdir(mode=0o700, exist_ok=True)
    account = unprivileged_account(work)
    config = work / "redis.conf"
    config.touch(mode=0o600)
    settings = {
        "bind": LOOPBACK,
        "port": str(port),
        "unixsocket": str(work / "sock"),
        "requirepass": password,
        "dir": str(work),
        "save": '""',
        "appendonly": "no",
        "zset-max-listpack-entries": "512",  # keeps an inbox of the hard cap of 400 compact
        **options,
    }
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    for path in (work, config):
        chown(path, account)
    return Service(
        name=name,
        argv=[redis_server(work), str(config)],
        ready=lambda: redis_answers(LOOPBACK, port, password),
        account=account,
        stop_seconds=5,
    )


def redis_server(work: Path) -> str:
    """Return the installed Redis server, or redis-check-rdb (redis-tools), the same binary."""
    with contextlib.suppress(ServiceError):
        return program("redis-server", "valkey-server")
    link = work / "redis-server"
    if not link.is_symlink():
        link.symlink_to(program("redis-check-rdb"))
    return str(link)


def redis_answers(host: str, port: int, password: str) -> bool:
    """Return whether a Redis or a Sentinel takes the password and answers."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1) as connection:
        connection.settimeout(1)
        connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
        answer = b""
        while b"PONG" not in answer:
            part = connection.recv(100)
            if not part or b"-" in part:
                return False
            answer += part
        return True
    return False


def redis_url(port: int, password: str) -> str:
    """Return the URL of a Redis service by its port, as for BROKER_URL."""
    return f"redis://:{password}@{LOOPBACK}:{port}/0"


def cache_url(runtime: Path, password: str) -> str:
    """Return the REDIS_URL of a `redis_cache` service by its socket, twice as fast as its port."""
    return f"unix://:{password}@{runtime / 'cache' / 'sock'}?db=0"
