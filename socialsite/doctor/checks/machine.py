"""This machine: clocks, disks, backups, and the versions of what is installed."""

import ctypes
import functools
import os
import platform
import re
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from socialsite.core import db
from socialsite.core.media import disk_space
from socialsite.core.redis import servers
from socialsite.core.redis.circuit_breaker import RedisDown
from socialsite.core.staff_home.tiles import ago
from socialsite.doctor import backups
from socialsite.doctor.findings import Finding, error, ok, unknown, warning

CLOCK_SECONDS = 2.0
FEW_PERCENT, LEAST_PERCENT = 15, 5
BACKUP_OLD, BACKUP_TOO_OLD = timedelta(hours=26), timedelta(days=7)
LOG_OLD, CHECK_OLD = timedelta(hours=1), timedelta(days=8)
PYTHON_MIN = (3, 11)
MARIADB_MIN, MYSQL_MIN, REDIS_MIN = (10, 11), (8, 0), (7, 0)
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(.*)$", re.M)
SHOWN_MAX = 5


# --- clock --------------------------------------------------------------------------------------
def clock() -> Iterator[Finding]:
    """This machine's clock, compared with those of the database and of Redis."""
    problems = []
    off = [(_("the database"), _difference(lambda: db.now_ms() / 1000))]
    try:
        with servers.caches() as found:
            for redis in found:
                redis.ping()
                off.append((_("Redis"), _difference(functools.partial(_redis_time, redis))))
    except RedisDown:
        problems.append(unknown(_("The clock of Redis is unknown, as it does not answer.")))
    for name, seconds in off:
        if abs(seconds) > CLOCK_SECONDS:
            problems.append(
                warning(
                    _("The clocks of this machine and of %(name)s differ by %(seconds).0f s.")
                    % {"name": name, "seconds": abs(seconds)},
                    _("Let NTP set the clocks of all machines (systemd-timesyncd or chrony)."),
                )
            )
    if is_synchronised() is False:
        problems.append(
            warning(
                _("Nothing sets the clock of this machine."),
                _("Turn on NTP: `timedatectl set-ntp true`, or install chrony."),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("The clocks agree."))


def _difference(read: Any) -> float:
    """Return by how many seconds a clock is ahead of this machine's."""
    start = time.time()
    there = read()
    return float(there - (start + time.time()) / 2)


def _redis_time(redis: Any) -> float:
    seconds, microseconds = redis.time()
    return float(seconds + microseconds / 1e6)


def is_synchronised() -> bool | None:
    """Return whether the kernel's clock follows a source of time; None if it does not say."""
    status_at, unsynchronised = 40, 0x40  # struct timex of 64-bit Linux; STA_UNSYNC
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    timex = ctypes.create_string_buffer(256)  # modes 0: only reads
    try:
        if ctypes.CDLL(None).adjtimex(timex) < 0:
            return None
    except (OSError, AttributeError):
        return None
    return not int.from_bytes(timex.raw[status_at : status_at + 4], sys.byteorder) & unsynchronised


# --- disk ---------------------------------------------------------------------------------------
def disk() -> Iterator[Finding]:
    """Free space and free inodes of the disks that the site writes to."""
    if disk_space.is_disk_full():
        yield error(
            _("Uploads are refused: less than MEDIA_MIN_FREE_PERCENT of the disk is free."),
            _("Delete what is not needed, or use a bigger disk."),
        )
    seen: set[int] = set()
    for folder in (Path(settings.DATA_DIR), Path(settings.MEDIA_ROOT), *_database_folder()):
        try:
            device, free = folder.stat().st_dev, _free_percent(folder)
        except OSError:  # another machine's, or not ours to see
            continue
        if device in seen:
            continue
        seen.add(device)
        text = _("%(free).0f %% of the disk of %(folder)s is free (space or number of files).")
        text %= {"free": free, "folder": folder}
        advice = _("Delete what is not needed, or use a bigger disk, before it is full.")
        if free < LEAST_PERCENT:
            yield error(text, advice)
        elif free < FEW_PERCENT:
            yield warning(text, advice)
        else:
            yield ok(text)


def _database_folder() -> list[Path]:
    """Return the directory of the database if it is on this machine."""
    host = str(connection.settings_dict.get("HOST") or "localhost")
    if not db.is_mysql() or not (host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")):
        return []
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@datadir")
            return [Path(cursor.fetchone()[0])]
    except DatabaseError:  # the check of the database reports it
        return []


def _free_percent(folder: Path) -> float:
    """Return the smaller share of free space and free inodes, 0 to 100."""
    found = os.statvfs(folder)
    shares = ((found.f_bavail, found.f_blocks), (found.f_favail, found.f_files))
    return 100 * min((free / total for free, total in shares if total), default=1.0)


# --- backup -------------------------------------------------------------------------------------
def backup() -> Iterator[Finding]:
    """How old the newest backup is, and whether it was read back."""
    advice = _("Make a backup every night, on another machine: see docs/operations.md.")
    try:
        found = backups.newest(Path(settings.DATA_DIR))
    except backups.BadStatus as reason:
        yield error(_("The status of the backup is not readable: %s") % reason, advice)
        return
    if found is None:
        yield warning(_("No backup was ever made."), advice)
        return
    age = datetime.now(UTC) - found.finished_at
    text = _("The newest backup is %(age)s old (%(target)s).")
    text %= {"age": ago(found.finished_at), "target": found.target or "?"}
    if age > BACKUP_TOO_OLD:
        yield error(text, advice)
    elif age > BACKUP_OLD:
        yield warning(text, advice)
    elif age < -timedelta(hours=1):
        yield warning(_("The newest backup is from the future."), _("Correct the clocks."))
    else:
        yield ok(text)
    if found.verified_at is None or datetime.now(UTC) - found.verified_at > CHECK_OLD:
        yield warning(
            _("No backup of the last %d days was read back.") % CHECK_OLD.days,
            _(
                "A backup that cannot be read is none. An encrypted one needs the private key for"
                " a moment: `site backup --identity FILE`."
            ),
        )
    if found.copied_until and datetime.now(UTC) - found.copied_until > LOG_OLD:
        yield warning(
            _("Writes since %s are in no backup.") % f"{found.copied_until:%F %T} UTC",
            _("The log should be copied every minute: `journalctl -u socialsite-backup-log`."),
        )
    if found.is_same_disk:
        yield warning(
            _("The backups lie on the disk of the site, and are lost with it (%s).") % found.target,
            _("Let them go to another machine: TARGET in /etc/socialsite/backup.env."),
        )


# --- versions -----------------------------------------------------------------------------------
def versions() -> Iterator[Finding]:
    """Versions of Python, Django, the servers, and of the locked packages."""
    yield ok(
        f"socialsite {settings.VERSION}, Python {platform.python_version()},"
        f" Django {django.__version__}"
    )
    if sys.version_info < PYTHON_MIN:
        yield _too_old("Python", platform.python_version(), PYTHON_MIN)
    name = "base" if settings.EMBEDDED else "stack"
    lock = Path(settings.BASE_DIR) / "requirements" / "lock" / f"{name}.txt"
    if not lock.exists():
        yield unknown(_("There is no list of locked packages: %s") % lock)
    elif other := differing(lock.read_text()):
        some = ", ".join(other[:SHOWN_MAX]) + (" …" if len(other) > SHOWN_MAX else "")
        yield warning(
            _("Installed packages differ from the locked ones: %s.") % some,
            _("Install the packages of this version again: see “Updates” in the documents."),
        )
    yield from _servers()


def differing(lock: str) -> list[str]:
    """Return the packages whose installed version is not that of a lock file, with both."""
    found = []
    for name, wanted, rest in LOCKED.findall(lock):
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            if ";" in rest:  # of another platform
                continue
            installed = "–"
        if installed != wanted:
            found.append(f"{name} {installed} ({wanted})")
    return found


def _servers() -> Iterator[Finding]:
    if db.is_mysql():
        own: Any = connection
        name, least = ("MariaDB", MARIADB_MIN) if own.mysql_is_mariadb else ("MySQL", MYSQL_MIN)
        yield _server(name, ".".join(map(str, own.mysql_version)), least)
    if settings.EMBEDDED:
        return
    try:
        with servers.caches() as found:
            for redis in found:
                yield _server("Redis", str(redis.info("server")["redis_version"]), REDIS_MIN)
    except RedisDown:
        yield unknown(_("The version of Redis is unknown, as it does not answer."))


def _server(name: str, version: str, least: tuple[int, ...]) -> Finding:
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    return ok(f"{name} {version}") if numbers >= least else _too_old(name, version, least)


def _too_old(name: str, version: str, least: tuple[int, ...]) -> Finding:
    wanted = ".".join(map(str, least))
    return error(
        _("%(name)s %(version)s is too old.") % {"name": name, "version": version},
        _("Update %(name)s to %(wanted)s or later.") % {"name": name, "wanted": wanted},
    )
