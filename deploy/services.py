"""Services of the site, each as a `Service`: its command line and its readiness check.

All listen on loopback or on a socket in a private directory. Redis stores nothing on disk here:
MySQL is the only source of truth, and a restart must not restore old sign-in state.
"""

import contextlib
import http.client
import os
import shutil
import socket
import string
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from deploy.service import Service, ServiceError, give, group_of, unprivileged_account
from socialsite.core.http import bodies
from socialsite.core.http.hsts import HSTS

PROJECT_DIR = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"
DATABASE_NAME = "socialsite"
DATABASE_USER = "socialsite"
COLLATION = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


def program(*names: str) -> str:
    """Return the path of the first installed program of these. Raises ServiceError if none is."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise ServiceError(f"{names[0]} is not installed")


# --- MariaDB ------------------------------------------------------------------------------------
def mariadb(
    directory: Path,
    runtime: Path,
    port: int,
    password: str,
    *,
    durable: bool = True,
    max_connections: int = 300,
) -> Service:
    """MariaDB with its data in `directory`, created on first use, and one user for the site.

    `durable=False` lets the kernel write the log within a second (for tests): a killed server still
    loses nothing, a power failure may. The user may create databases, as a test run must.
    """
    account = unprivileged_account(directory)
    user = f"--user={account or 'root'}" if os.geteuid() == 0 else None
    data = directory / "data"
    directory.mkdir(parents=True, exist_ok=True)
    give(directory, account).chmod(0o700)
    work = runtime / "mariadb"
    work.mkdir(mode=0o700, exist_ok=True)
    give(work, account)
    if not (data / "mysql").exists():
        _install_mariadb(data, work, account, user)
    # The account may differ from the last run (root now, a person then).
    init = runtime / "mariadb-init.sql"
    init.touch(mode=0o600)
    init.write_text(
        f"CREATE DATABASE IF NOT EXISTS {DATABASE_NAME} {COLLATION};\n"
        f"CREATE OR REPLACE USER '{DATABASE_USER}'@'{LOOPBACK}' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO '{DATABASE_USER}'@'{LOOPBACK}';\n"
    )
    give(init, account)
    argv = [
        program("mariadbd", "mysqld"),
        "--no-defaults",
        f"--datadir={data}",
        f"--tmpdir={work}",
        f"--socket={work / 'sock'}",
        f"--pid-file={work / 'pid'}",
        f"--port={port}",
        f"--bind-address={LOOPBACK}",
        f"--init-file={init}",
        "--skip-name-resolve",
        "--character-set-server=utf8mb4",
        "--collation-server=utf8mb4_bin",
        "--transaction-isolation=READ-COMMITTED",
        f"--max-connections={max_connections}",
        "--innodb-buffer-pool-size=256M",
        f"--innodb-flush-log-at-trx-commit={1 if durable else 2}",
        "--local-infile=0",
        *([user] if user else []),
    ]
    return Service(
        name="database",
        argv=argv,
        ready=lambda: _mysql_answers(port, password),
        account=account,
        stop_seconds=60,
        essential=True,
    )


def _install_mariadb(data: Path, work: Path, account: str | None, user: str | None) -> None:
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
            *([user] if user else []),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(data, ignore_errors=True)
        raise ServiceError(f"the database could not be created:\n{done.stdout}{done.stderr}")


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


def mysql_url(port: int, password: str, name: str = DATABASE_NAME) -> str:
    """Return the DATABASE_URL of a `mariadb` service."""
    return f"mysql://{DATABASE_USER}:{password}@{LOOPBACK}:{port}/{name}"


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
        give(path, account)
    return Service(
        name=name,
        argv=[_redis_server(work), str(config)],
        ready=lambda: _redis_answers(port, password),
        account=account,
        stop_seconds=5,
    )


def _redis_server(work: Path) -> str:
    """Return the installed Redis server, or redis-check-rdb (redis-tools), the same binary."""
    with contextlib.suppress(ServiceError):
        return program("redis-server", "valkey-server")
    link = work / "redis-server"
    if not link.is_symlink():
        link.symlink_to(program("redis-check-rdb"))
    return str(link)


def _redis_answers(port: int, password: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), 1) as connection:
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


# --- the site's own processes -------------------------------------------------------------------
def python(*words: str) -> list[str]:
    """Return a command line for this Python."""
    return [sys.executable, *words]


def manage(name: str, env: Mapping[str, str], *words: str) -> Service:
    """One management command, which ends by itself."""
    return Service(name, python("manage.py", *words), env=env, cwd=PROJECT_DIR)


def celery_worker(env: Mapping[str, str], *, name: str = "worker", processes: int = 2) -> Service:
    """A Celery worker with its own worker processes."""
    return Service(
        name=name,
        argv=python(
            *("-m", "celery", "-A", "socialsite", "worker"),
            *("--hostname", f"{name}@%h", "--concurrency", str(processes)),
            *("--loglevel", "INFO", "--without-mingle", "--without-gossip"),
        ),
        ready_line=" ready.",
        env=env,
        cwd=PROJECT_DIR,
    )


def beat(env: Mapping[str, str]) -> Service:
    """Celery beat: starts the sweeps of the schedule in the settings."""
    return Service(
        name="beat",
        argv=python("-m", "celery", "-A", "socialsite", "beat", "--loglevel", "INFO"),
        ready_line="beat: Starting...",
        env=env,
        cwd=PROJECT_DIR,
    )


def wsgi(env: Mapping[str, str], uds: Path, *, processes: int = 2, threads: int = 4) -> Service:
    """HTTP under granian, on a Unix socket."""
    return Service(
        name="http",
        argv=python(
            *("-m", "granian", "socialsite.wsgi:application", "--interface", "wsgi"),
            *("--uds", str(uds), "--uds-permissions", "666"),
            *("--workers", str(processes), "--blocking-threads", str(threads)),
            *("--no-ws", "--log-level", "warning", "--respawn-failed-workers"),
            *("--http1-buffer-size", "65536"),  # bounds the size of a request head too
            *("--workers-kill-timeout", "5"),
        ),
        ready=lambda: http_answers(uds),
        stale=[uds],
        env=env,
        cwd=PROJECT_DIR,
    )


def asgi(env: Mapping[str, str], uds: Path) -> Service:
    """WebSockets under uvicorn, on a Unix socket."""
    return Service(
        name="sockets",
        argv=python(
            *("-m", "uvicorn", "socialsite.asgi:application", "--uds", str(uds)),
            *("--http", "socialsite.core.http.protocols:BoundedHttp"),
            *("--ws", "socialsite.core.http.protocols:BoundedSocket"),
            *("--ws-max-size", "65536", "--lifespan", "off"),
            *("--no-server-header", "--no-proxy-headers", "--no-access-log"),
            *("--log-level", "warning", "--timeout-graceful-shutdown", "2"),
        ),
        ready=lambda: http_answers(uds),
        stale=[uds],
        env=env,
        cwd=PROJECT_DIR,
    )


def http_answers(uds: Path, path: str = "/healthz") -> bool:
    """Return whether a GET over the Unix socket gets status 200."""
    connection = _UnixConnection(uds)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status == 200
    return False


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP client on a Unix socket."""

    def __init__(self, uds: Path) -> None:
        super().__init__("localhost", timeout=5)
        self._uds = str(uds)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._uds)


# --- nginx --------------------------------------------------------------------------------------
def nginx(
    runtime: Path,
    host: str,
    port: int,
    *,
    http_uds: Path,
    sockets_uds: Path,
    files: Path,
    scheme: str,
) -> Service:
    """nginx in front: serves `static/` and `media/` of `files`, proxies `/ws/` and the rest.

    It ignores what clients claim about their address; `scheme` is the public one.
    """
    account = unprivileged_account(files / "media")
    work = runtime / "nginx"
    work.mkdir(mode=0o700, exist_ok=True)
    give(work, account)  # large request bodies are buffered there
    template = string.Template((Path(__file__).parent / "nginx.conf.tmpl").read_text())
    config = work / "nginx.conf"
    config.write_text(
        template.substitute(
            user=_nginx_user(account),
            work=work,
            listen=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            http=http_uds,
            sockets=sockets_uds,
            files=files,
            scheme=scheme,
            hsts=HSTS if scheme == "https" else "",
            body=bodies.OTHER,
            larger_bodies=_larger_bodies(),
        )
    )
    return Service(
        name="nginx",
        argv=[program("nginx"), "-e", "stderr", "-p", str(work), "-c", str(config)],
        ready=lambda: _listens(host, port),
        stop_seconds=5,
    )


def _larger_bodies() -> str:
    """Return nginx's blocks for the URLs with a larger limit of the body."""
    blocks = []
    for path, limit in bodies.locations().items():
        api = "api_" if path.startswith("/api/") else ""
        blocks.append(
            f"        location = {path} {{\n"
            "            proxy_pass http://http;\n"
            f"            client_max_body_size {limit};\n"
            f"            error_page 413 @{api}too_large;\n"
            f"            error_page 502 504 = @{api}unavailable;\n"
            "        }\n"
        )
    return "\n".join(blocks)


def _nginx_user(account: str | None) -> str:
    """Return nginx's `user` line, which only root may write."""
    if account:
        return f"user {account} {group_of(account).gr_name};"
    return "user root;" if os.geteuid() == 0 else ""


def _listens(host: str, port: int) -> bool:
    local = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104
    with contextlib.suppress(OSError), socket.create_connection((local, port), 1):
        return True
    return False
