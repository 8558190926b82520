"""The database of an embedded site for back-ups, by SQLite's own online copy."""

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from deploy.site.backups.sealing import Seal, flow

PAGES = 1000
PAUSE_SECONDS = 0.01


@dataclass(frozen=True)
class File:
    """The file of the database."""

    path: Path

    def dump(self, target: Path, seal: Seal) -> None:
        """Write a sealed copy of one moment, while the site runs."""
        plain = target.with_name("copy")
        with (
            contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(plain)) as copy,
        ):
            source.backup(copy, pages=PAGES, sleep=PAUSE_SECONDS)
        flow(seal.closing(), source=plain, target=target)
        plain.unlink()


def faults(path: Path) -> list[str]:
    """Return what is wrong with a copy: damaged pages, and rows that refer to nothing."""
    with contextlib.closing(sqlite3.connect(path)) as copy:
        found = [row[0] for row in copy.execute("PRAGMA integrity_check") if row[0] != "ok"]
        broken = copy.execute("PRAGMA foreign_key_check").fetchall()
    return found + [
        f"{table}: row {row} refers to nothing in {other}" for table, row, other, _ in broken
    ]
