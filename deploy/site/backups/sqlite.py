"""The database of an embedded site for back-ups, by SQLite's own online copy."""

import contextlib
import datetime
import os
import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path

from deploy.site.backups.mariadb import Position
from deploy.site.backups.sealing import Seal, flow
from deploy.site.backups.targets import sync

PAGES = 1000
PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class File:
    """The file of the database."""

    path: Path

    def size(self) -> int:
        """Return the bytes of the database."""
        return sum(path.stat().st_size for path in (self.path, self._wal) if path.exists())

    @property
    def _wal(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def dump(self, target: Path, seal: Seal) -> Position:
        """Write a sealed copy of one moment, while the site runs, and return that moment."""
        plain = target.with_name("copy")
        with (
            contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(plain)) as copy,
        ):
            source.backup(copy, pages=PAGES, sleep=PAUSE_SECONDS)
        moment = datetime.datetime.now(datetime.UTC)
        flow(seal.closing(), source=plain, target=target)
        plain.unlink()
        return Position(moment)

    def replace(self, copy: Path) -> None:
        """Put a copy, a file of the same folder, in the place of the database at once.

        Nobody may use the database. The file has the owner and the mode of the one before.
        """
        like = self.path if self.path.exists() else self.path.parent
        found = like.stat()
        with copy.open("rb") as file:
            if os.geteuid() == 0:
                os.fchown(file.fileno(), found.st_uid, found.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode) & 0o666)
            os.fsync(file.fileno())
        # Writes in the log of the old database must get neither lost nor into the new one.
        if self._wal.exists():
            with (
                contextlib.suppress(sqlite3.DatabaseError),  # it is replaced because it is damaged
                contextlib.closing(sqlite3.connect(self.path)) as old,
            ):
                old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for suffix in ("-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        os.replace(copy, self.path)
        sync(self.path.parent)


def faults(path: Path) -> list[str]:
    """Return what is wrong with a copy: damaged pages, and rows that refer to nothing."""
    with contextlib.closing(sqlite3.connect(path)) as copy:
        found = [row[0] for row in copy.execute("PRAGMA integrity_check") if row[0] != "ok"]
        broken = copy.execute("PRAGMA foreign_key_check").fetchall()
    return found + [
        f"{table}: row {row} refers to nothing in {other}" for table, row, other, _ in broken
    ]
