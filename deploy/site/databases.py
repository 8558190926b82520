"""MariaDB and the two Redis of an installed site: Debian's services with our configuration."""

import os
import subprocess
from pathlib import Path

from deploy.services.databases import COLLATION, DATABASE_NAME, DATABASE_USER
from deploy.site import layout, settings
from deploy.site.machine import Machine, run, succeeds

MARIADB_CONFIG = Path("/etc/mysql/mariadb.conf.d/90-socialsite.cnf")
MARIADB = f"""\
# Written by the installation of socialsite.
[mariadbd]
bind-address = 127.0.0.1
skip-name-resolve
character-set-server = utf8mb4
collation-server = utf8mb4_bin
transaction-isolation = READ-COMMITTED
local-infile = 0
max-connections = 300
innodb-buffer-pool-size = {{memory}}M
# No acknowledged write is lost when the power fails.
innodb-flush-log-at-trx-commit = 1
sync-binlog = 1
# Back-ups up to a second need the binary log.
log-bin = {DATABASE_NAME}-bin
binlog-format = ROW
expire-logs-days = 8
max-binlog-size = 256M
"""
DROP_IN = Path("/etc/systemd/system/mariadb.service.d/socialsite.conf")
# Debian starts it again only after it was killed by a signal. But it also ends by itself when its
# disk fails, and cannot start before the disk works again.
RETURN = """\
# Written by the installation of socialsite.
[Unit]
StartLimitIntervalSec=0

[Service]
Restart=always
RestartSec=5s
"""
REDIS = """\
# Written by the installation of socialsite. Nothing is stored on disk: the database is the only
# truth, and a restart must not restore old sign-ins.
bind 127.0.0.1
port {port}
unixsocket /run/redis-{name}/redis.sock
unixsocketperm 770
requirepass {password}
supervised systemd
daemonize no
pidfile /run/redis-{name}/redis-server.pid
logfile ""
dir /var/lib/redis
save ""
appendonly no
zset-max-listpack-entries 512
{options}
"""


def database(machine: Machine, password: str) -> None:
    """Configure MariaDB, start it, and create the database and its user."""
    text = MARIADB.format(memory=_memory() // 4 // 2**20)
    changed = machine.write(MARIADB_CONFIG, text)
    machine.directory(DROP_IN.parent)
    if machine.write(DROP_IN, RETURN):
        machine.run("systemctl", "daemon-reload")
    if changed and succeeds("systemctl", "--quiet", "is-active", "mariadb.service"):
        machine.run("systemctl", "restart", "mariadb.service")
    machine.enabled("mariadb.service")
    user = f"'{DATABASE_USER}'@'127.0.0.1'"
    if not _answers(password):
        run(
            *("mariadb", "--batch"),
            stdin=f"CREATE DATABASE IF NOT EXISTS {DATABASE_NAME} {COLLATION};\n"
            f"CREATE OR REPLACE USER {user} IDENTIFIED BY '{password}';\n"
            f"GRANT ALL ON `{DATABASE_NAME}`.* TO {user};\n",
        )
        machine.changed(f"database {DATABASE_NAME} and its user created")


def _answers(password: str) -> bool:
    """Return whether the user of the site can use the database."""
    # A password on the command line would be visible to everybody on the machine.
    login = f"[client]\nuser={DATABASE_USER}\npassword={password}\nhost=127.0.0.1\n"
    reader, writer = os.pipe()
    try:
        os.write(writer, login.encode())
        os.close(writer)
        done = subprocess.run(
            ["mariadb", f"--defaults-file=/dev/fd/{reader}", DATABASE_NAME, "-e", "SELECT 1"],
            pass_fds=[reader],
            capture_output=True,
            check=False,
        )
    finally:
        os.close(reader)
    return done.returncode == 0


def redis(machine: Machine, password: str) -> None:
    """Configure and start the Redis of the caches and that of the broker."""
    for name, port, options in (
        # Only its socket is used: twice as fast as a port.
        (layout.CACHE, 0, f"maxmemory {_cache_megabytes()}mb\nmaxmemory-policy allkeys-lru"),
        (layout.BROKER, settings.BROKER_PORT, "maxmemory-policy noeviction"),
    ):
        path = layout.REDIS_ETC / f"redis-{name}.conf"
        text = REDIS.format(name=name, port=port, password=password, options=options)
        changed = machine.write(path, text, 0o640, layout.REDIS_ACCOUNT, layout.REDIS_ACCOUNT)
        unit = f"redis-server@{name}.service"
        if changed and succeeds("systemctl", "--quiet", "is-active", unit):
            machine.run("systemctl", "restart", unit)
        machine.enabled(unit)


def empty_redis(machine: Machine) -> None:
    """Empty both Redis: they store nothing on the disk, so a restart does it."""
    for name in (layout.CACHE, layout.BROKER):
        machine.run("systemctl", "restart", f"redis-server@{name}.service")


def _cache_megabytes() -> int:
    """Return the size of the cache: an eighth of the memory, at least 256 MB."""
    return max(256, _memory() // 8 // 2**20)


def _memory() -> int:
    """Return the memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
