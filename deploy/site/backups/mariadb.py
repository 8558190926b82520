"""The database of a site for back-ups: dumps with their position in the binary log, and that log.

Programs of MariaDB do the work. Passwords reach them by the environment, so no other account of the
machine sees them.
"""

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.site.backups.sealing import Seal, flow
from deploy.site.machine import InstallError, run

POSITION = re.compile(r"MASTER_LOG_FILE='([^']+)', MASTER_LOG_POS=(\d+)")
UTF8 = "--default-character-set=utf8mb4"
HEAD_BYTES = 65_536
# What is restored is part of the next full back-up, and must not fill the log as well.
UNLOGGED = "--init-command=SET SESSION sql_log_bin=0, FOREIGN_KEY_CHECKS=0, UNIQUE_CHECKS=0"


def number_of(file: str) -> int:
    """Return the number of a file of the binary log."""
    return int(file.rpartition(".")[2])


def goes_back(before: str, now: str) -> bool:
    """Return whether a position (GTIDs) is behind an earlier one: the log has begun anew."""
    known, found = (
        {gtid.split("-")[0]: int(gtid.split("-")[2]) for gtid in position.split(",") if gtid}
        for position in (before, now)
    )
    return any(found.get(domain, 0) < number for domain, number in known.items())


@dataclass(frozen=True)
class Position:
    """The moment of a dump, and its place in the binary log: what was committed before is in it.

    The moment is not before that of the dump. SQLite has no log, so no `file`.
    """

    moment: datetime.datetime
    file: str = ""
    offset: int = 0


@dataclass(frozen=True)
class Server:
    """A MariaDB server and the database of the site; root on an installed machine."""

    name: str
    options: Sequence[str] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def _env(self) -> dict[str, str]:
        return {**os.environ, **self.env, "TZ": "UTC"}

    def query(self, sql: str, database: str = "") -> list[list[str]]:
        """Run a statement and return its rows as texts."""
        words = [
            "mariadb",
            *self.options,
            UTF8,
            "--batch",
            "--skip-column-names",
            *filter(None, [database]),
        ]
        return [line.split("\t") for line in run(*words, stdin=sql, env=self._env).splitlines()]

    def dump(self, target: Path, seal: Seal) -> Position:
        """Write a dump of one moment, sealed, and return its position. Nobody waits for it."""
        command = [
            *("mariadb-dump", *self.options, "--single-transaction", "--master-data=2"),
            *("--quick", "--hex-blob", "--routines", "--triggers", "--skip-dump-date"),
            *(UTF8, "--skip-lock-tables", "--skip-add-locks", self.name),
        ]
        head = target.with_name("head")
        note_head = ["sh", "-c", f'head -c {HEAD_BYTES} | tee "$0"; exec cat', str(head)]
        flow([command, note_head, *seal.closing()], target=target, env=self._env)
        found = POSITION.search(head.read_text(errors="replace"))
        # Its first bytes are written right after the moment.
        moment = datetime.datetime.fromtimestamp(head.stat().st_mtime, datetime.UTC)
        head.unlink()
        if found is None:
            raise InstallError("the dump has no position: switch the binary log on (log-bin)")
        return Position(moment, found[1], int(found[2]))

    def size(self) -> int:
        """Return the bytes of the tables of the site with their indexes, about."""
        ((size,),) = self.query(
            "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables"  # noqa: S608
            f" WHERE table_schema = '{self.name}'"
        )
        return int(size)

    def folder(self) -> Path:
        """Return the folder of the tables on the machine of the server."""
        ((folder,),) = self.query("SELECT @@datadir")
        return Path(folder)

    def load(self, source: Path, database: str, opening: Sequence[Sequence[str]]) -> None:
        """Create the database anew and load a sealed dump into it."""
        self.query(
            f"SET SESSION sql_log_bin=0; DROP DATABASE IF EXISTS `{database}`;"
            f" CREATE DATABASE `{database}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        )
        loading = ["mariadb", *self.options, UTF8, UNLOGGED, "--binary-mode", database]
        flow([*opening, loading], source=source, env=self._env)

    def drop(self, database: str) -> None:
        """Delete a database."""
        self.query(f"SET SESSION sql_log_bin=0; DROP DATABASE IF EXISTS `{database}`")

    def position(self) -> str:
        """Return the GTIDs of the last writes in the binary log."""
        ((written,),) = self.query("SELECT @@gtid_binlog_pos")
        return written

    def rotate_log(self, before: str) -> tuple[list[str], str]:
        """Begin a new file of the binary log if something was written since `before`, a GTID.

        Returns the names of all complete files, the oldest first, and the last GTID in them.
        Raises InstallError if there is no binary log.
        """
        ((enabled, written),) = self.query("SELECT @@log_bin, @@gtid_binlog_pos")
        if enabled != "1":
            raise InstallError("MariaDB has no binary log: switch it on (log-bin)")
        if written != before:
            self.query("FLUSH BINARY LOGS")
        files = [row[0] for row in self.query("SHOW BINARY LOGS")]
        return files[:-1], written

    def copy_log(self, name: str, folder: Path) -> Path:
        """Copy one complete file of the binary log and return its path."""
        run(
            *("mariadb-binlog", *self.options, "--read-from-remote-server", "--raw"),
            *(f"--result-file={folder}/", name),
            env=self._env,
        )
        return folder / name

    def replay(self, files: Sequence[Path], start: int, until: str, database: str) -> None:
        """Repeat the writes of log files, from an offset in the first up to a time (UTC).

        Without a time (""), all of them.
        """
        stop = [f"--stop-datetime={until}"] if until else []
        reading = [
            *("mariadb-binlog", f"--database={database}", "--disable-log-bin"),
            *(f"--start-position={start}", *stop, *map(str, files)),
        ]
        flow([reading, ["mariadb", *self.options, UTF8, "--binary-mode"]], env=self._env)

    def broken_references(self, database: str) -> list[str]:
        """Return each foreign key with rows that refer to nothing, and their number."""
        # The name of the database is one of ours.
        sql = (
            "SELECT table_name, column_name, referenced_table_name, referenced_column_name"  # noqa: S608
            f" FROM information_schema.key_column_usage WHERE table_schema = '{database}'"
            " AND referenced_table_name IS NOT NULL"
        )
        keys = self.query(sql)
        broken = []
        for table, column, other, key in keys:
            missing = f"a.`{column}` IS NOT NULL AND b.`{key}` IS NULL"
            joined = f"`{table}` a LEFT JOIN `{other}` b ON a.`{column}` = b.`{key}`"
            # The names are those of the tables of the site.
            sql = f"SELECT COUNT(*) FROM {joined} WHERE {missing}"  # noqa: S608
            ((number,),) = self.query(sql, database)
            if number != "0":
                broken.append(f"{table}.{column}: {number} rows")
        return broken
