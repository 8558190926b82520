"""The records of an archive in the order of their times, in a file beside it.

Archives have their records in any order, and refer to each other's. Sorting and finding them takes
a small SQLite file, so that memory does not grow with the archive.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from socialsite.core.imports import files
from socialsite.core.imports.kinds import TOO_MANY_ROWS, Unreadable
from socialsite.core.media import disk_space

Record = dict[str, Any]
Numbered = tuple[int, Record]
SUFFIX = ".rows"
STEP = 100
_TABLES = """
    CREATE TABLE given (at INTEGER NOT NULL, ident TEXT NOT NULL, record TEXT NOT NULL);
    CREATE TABLE rows (number INTEGER PRIMARY KEY, ident TEXT NOT NULL, record TEXT NOT NULL);
"""
_IN_ORDER = "INSERT INTO rows (ident, record) SELECT ident, record FROM given ORDER BY at, rowid"


def path_of(archive: Path) -> Path:
    """Return the path of the file with an archive's records."""
    return archive.with_name(f"{archive.name}{SUFFIX}")


def write(archive: Path, records: Iterable[Record], most: int, alive: Callable[[], None]) -> None:
    """Write the records of an archive, unless that is done; each has `at` (Unix ms) and `ident`.

    Raises Unreadable for more than `most` records.
    """
    target = path_of(archive)
    if target.exists():
        return
    draft = archive.with_name(f"{archive.name}.{secrets.token_hex(4)}")
    try:
        with disk_space.room(), open(draft, "xb", opener=files.own_file):
            pass
        with closing(_connect(draft)) as file:
            file.executescript(_TABLES)
            for number, one in enumerate(records):
                if number >= most:
                    raise Unreadable(TOO_MANY_ROWS)
                values = (one["at"], one["ident"], json.dumps(one, ensure_ascii=False))
                file.execute("INSERT INTO given VALUES (?, ?, ?)", values)
                alive()
                if number % STEP == 0:
                    disk_space.check_free()
            file.execute(_IN_ORDER)
            file.execute("DROP TABLE given")
            file.execute("CREATE INDEX by_ident ON rows (ident)")
            file.commit()
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(f"file:{path}?mode=rw", uri=True)
    # No journal: a file that is not whole is never used.
    file.execute("PRAGMA journal_mode = OFF")
    file.execute("PRAGMA synchronous = OFF")
    file.execute("PRAGMA temp_store = FILE")
    return file


def steps(archive: Path, after: int) -> Iterator[list[Numbered]]:
    """Yield the records after a number, in steps, each with its number from 1."""
    while True:
        with closing(_connect(path_of(archive))) as file:
            found = file.execute(
                "SELECT number, record FROM rows WHERE number > ? ORDER BY number LIMIT ?",
                (after, STEP),
            )
            step = [(number, json.loads(record)) for number, record in islice(found, STEP)]
        if step:
            yield step
            after = step[-1][0]
        if len(step) < STEP:
            return


def find(archive: Path, ident: str) -> Record | None:
    """Return the record with an id; the first if there are several."""
    with closing(_connect(path_of(archive))) as file:
        query = "SELECT record FROM rows WHERE ident = ? ORDER BY number LIMIT 1"
        row = file.execute(query, (ident,)).fetchone()
    return None if row is None else json.loads(row[0])
