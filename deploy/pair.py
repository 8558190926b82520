"""Two MariaDB of which one copies the other: `python -m deploy.pair FOLDER COMMAND`.

It runs on the machine of HAProxy. `pair.json` in the folder names the servers and the account;
`state.json` says which of them is the primary, and whether the other one has everything that was
confirmed. Only this program changes it, so keep it: it decides who may become the primary.

- `status` shows both.
- `promote` makes the replica the primary. It ends the copying first. The old primary, wherever it
  is, can confirm nothing any more, as nobody copies from it.
- `rejoin` makes the other server, which was started with `--init-rpl-role=SLAVE` or is new, the
  replica, and waits until it has everything.
- `alone` lets the primary confirm without the replica, when that one is gone.
- `resume` lets the primary write without the replica, after it was started or `promote` ended
  half-way.
- `watch` writes once in a second, and promotes or goes on alone when that fails twice in a row.
"""

import contextlib
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import MySQLdb
from MySQLdb.cursors import DictCursor

SECONDS = 3
APPLY_SECONDS = 60
JOIN_SECONDS = 600
FAILURES, BEAT_SECONDS = 2, 2
OTHER_HISTORY = 1236
POLL_SECONDS = 0.2
COMMANDS = ("status", "promote", "rejoin", "alone", "resume", "watch")


class PairError(Exception):
    """A command was refused or failed; the text says why."""


@dataclass(frozen=True)
class Server:
    """Where a server is, for this program and HAProxy, and for the other server."""

    host: str
    port: int
    copy_host: str


@dataclass(frozen=True)
class State:
    """Which server is the primary; `complete` if the other one has all that was confirmed."""

    primary: str
    complete: bool


@dataclass(frozen=True)
class Configuration:
    """What `pair.json` says."""

    servers: dict[str, Server]
    user: str
    password: str
    proxy: str


class Pair:
    """The two servers of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        told = json.loads((folder / "pair.json").read_text())
        servers = {name: Server(**one) for name, one in told.pop("servers").items()}
        self.configuration = Configuration(servers=servers, **told)

    @property
    def state(self) -> State:
        """The state, from its file."""
        return State(**json.loads((self.folder / "state.json").read_text()))

    @property
    def replica(self) -> str:
        """The name of the server that is not the primary."""
        primary = self.state.primary
        return next(name for name in self.configuration.servers if name != primary)

    def begin(self, primary: str) -> None:
        """Write the first state: a primary without a replica. It writes after `resume`."""
        self._remember(State(primary, complete=False))

    def promote(self) -> None:
        """Make the replica the primary. Raises PairError if it may miss what was confirmed."""
        with self._locked() as state:
            name = self.replica
            with self._connected(name, seconds=APPLY_SECONDS) as cursor:
                if not (state.complete and self._has_joined(cursor)):
                    raise PairError(f"{name} may miss writes that {state.primary} has confirmed")
                # From here on the old primary confirms nothing.
                cursor.execute("STOP SLAVE IO_THREAD")
                self._apply_all(cursor)
                self._remember(State(name, complete=False))
                self._send_all_to(name)
                self._let_write(cursor)

    def rejoin(self) -> None:
        """Make the other server the replica. Raises PairError if it has what the primary has not.

        From then on the primary confirms nothing that the replica does not have.
        """
        with self._locked() as state:
            name = self.replica
            with self._connected(name) as cursor, self._connected(state.primary) as primary:
                self._remember(State(state.primary, complete=False))
                self._copy_from(cursor, self.configuration.servers[state.primary])
                self._catch_up(cursor, primary)
                primary.execute("SET GLOBAL rpl_semi_sync_master_enabled = ON")
                # What was confirmed before without the replica.
                self._catch_up(cursor, primary)
                self._remember(State(state.primary, complete=True))
                primary.execute("SET GLOBAL read_only = OFF")

    def wait(self) -> None:
        """Wait until the replica has applied everything that the primary has now."""
        with self._connected(self.replica) as cursor, self._connected(self.state.primary) as one:
            self._catch_up(cursor, one)

    def alone(self) -> None:
        """Let the primary confirm without the replica, which then may not replace it."""
        with self._locked() as state, self._connected(state.primary) as cursor:
            self._remember(State(state.primary, complete=False))
            cursor.execute("SET GLOBAL rpl_semi_sync_master_enabled = OFF")

    def resume(self) -> None:
        """Let the primary, which was started, write. Raises PairError if the replica must do it.

        A primary that stopped may lack what only the replica has stored.
        """
        with self._locked() as state:
            if state.complete:
                raise PairError(f"{self.replica} has everything: run promote, or rejoin")
            with self._connected(state.primary) as cursor:
                self._send_all_to(state.primary)
                self._let_write(cursor)
                cursor.execute("CREATE DATABASE IF NOT EXISTS pair")
                cursor.execute(
                    "CREATE TABLE IF NOT EXISTS pair.beat (id INT PRIMARY KEY, at BIGINT NOT NULL)"
                    " ENGINE=InnoDB"
                )

    def status(self) -> dict[str, object]:
        """Return the state, and the positions and roles of both servers as they say them."""
        found: dict[str, object] = asdict(self.state)
        for name in self.configuration.servers:
            try:
                with self._connected(name) as cursor:
                    cursor.execute(
                        "SELECT @@gtid_binlog_pos AS position, @@read_only AS read_only,"
                        " @@rpl_semi_sync_master_enabled AS waits"
                    )
                    found[name] = cursor.fetchone()
            except MySQLdb.Error as error:
                found[name] = repr(error)
        return found

    def watch(self) -> None:
        """Write once in a second; promote or go on alone after FAILURES. Returns never."""
        failures = 0
        while True:
            failures = 0 if self.beat() else failures + 1
            if failures >= FAILURES:
                print(f"the primary does not write: {self.act() or 'nothing helps'}", flush=True)
                failures = 0
            time.sleep(1)

    def act(self) -> str:
        """Do what a primary that does not write needs; return the command, "" if none helps."""
        try:
            command = self._remedy()
            if command:
                getattr(self, command)()
            return command
        except (MySQLdb.Error, OSError, PairError) as error:
            print(f"not yet: {error!r}", flush=True)
        return ""

    def _remedy(self) -> str:
        """Return the command that lets somebody write again, "" if there is none."""
        state, waits = self.state, self._waits()
        if not state.complete:  # nobody can replace the primary; did `rejoin` end half-way?
            return "alone" if waits else ""
        with contextlib.suppress(MySQLdb.Error), self._connected(self.replica) as cursor:
            if self._has_joined(cursor):
                return "promote"
            return "" if waits is None else "rejoin"
        return "" if waits is None else "alone"

    def _waits(self) -> bool | None:
        """Return whether the primary waits for a replica, None if it does not answer."""
        with contextlib.suppress(MySQLdb.Error), self._connected(self.state.primary) as cursor:
            cursor.execute("SELECT @@rpl_semi_sync_master_enabled AS waits")
            return bool(cursor.fetchone()["waits"])
        return None

    def _has_joined(self, cursor: Any) -> bool:
        """Return whether a replica runs since `rejoin`, which switches this on.

        One that started again may have lost what it had confirmed, but not yet applied.
        """
        cursor.execute("SELECT @@rpl_semi_sync_slave_enabled AS joined")
        return bool(cursor.fetchone()["joined"])

    def beat(self) -> bool:
        """Return whether the primary takes writes of others, and confirms one."""
        primary = self._connected(self.state.primary, seconds=BEAT_SECONDS)
        with contextlib.suppress(MySQLdb.Error), primary as cursor:
            cursor.execute("REPLACE INTO pair.beat VALUES (1, %s)", [time.time_ns()])
            cursor.execute("SELECT @@read_only AS read_only")
            return not cursor.fetchone()["read_only"]
        return False

    def _copy_from(self, cursor: Any, source: Server) -> None:
        cursor.execute("SET GLOBAL read_only = ON")
        cursor.execute("STOP SLAVE")
        cursor.execute("SET GLOBAL rpl_semi_sync_slave_enabled = ON")
        account = (self.configuration.user, self.configuration.password)
        cursor.execute(
            "CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %s, MASTER_USER = %s,"
            " MASTER_PASSWORD = %s, MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 1,"
            " MASTER_USE_GTID = slave_pos, MASTER_DEMOTE_TO_SLAVE = 1",
            [source.copy_host, source.port, *account],
        )
        cursor.execute("START SLAVE")

    def _let_write(self, cursor: Any) -> None:
        cursor.execute("STOP SLAVE")
        cursor.execute("RESET SLAVE ALL")
        cursor.execute("SET GLOBAL rpl_semi_sync_master_enabled = OFF")
        cursor.execute("SET GLOBAL read_only = OFF")

    def _apply_all(self, cursor: Any) -> None:
        """Wait until a replica has applied everything that it has stored."""
        cursor.execute("SHOW SLAVE STATUS")
        row = cursor.fetchone()
        if row is None:
            raise PairError("the replica copies from nobody")
        cursor.execute("START SLAVE SQL_THREAD")
        self._wait_for(cursor, row["Gtid_IO_Pos"], APPLY_SECONDS)

    def _catch_up(self, cursor: Any, primary: Any) -> None:
        """Wait until the replica has applied what the primary has now. Raises PairError."""
        primary.execute("SELECT @@gtid_binlog_pos AS position")
        wanted = primary.fetchone()["position"]
        deadline = time.monotonic() + JOIN_SECONDS
        while time.monotonic() < deadline:
            cursor.execute("SHOW SLAVE STATUS")
            row = cursor.fetchone()
            # Other errors of the copying, such as no connection, are tried again by the server.
            if row["Last_IO_Errno"] == OTHER_HISTORY or row["Last_SQL_Errno"]:
                error = row["Last_IO_Error"] or row["Last_SQL_Error"]
                raise PairError(f"it is no replica of this primary, build it anew: {error}")
            if row["Slave_IO_Running"] == "Yes" and self._wait_for(cursor, wanted, 1, strict=False):
                return
            time.sleep(POLL_SECONDS)
        raise PairError("the replica did not catch up")

    def _wait_for(self, cursor: Any, position: str, seconds: int, *, strict: bool = True) -> bool:
        cursor.execute("SELECT MASTER_GTID_WAIT(%s, %s) AS late", [position, seconds])
        is_there = cursor.fetchone()["late"] == 0
        if strict and not is_there:
            raise PairError(f"the replica did not apply {position} within {seconds} s")
        return is_there

    @contextlib.contextmanager
    def _locked(self) -> Iterator[State]:
        """Let commands wait for each other; yield the state."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.state

    def _remember(self, state: State) -> None:
        """Write the state, and the map for a HAProxy that starts."""
        _write(self.folder / "state.json", json.dumps(asdict(state)))
        _write(self.folder / "primary.map", f"primary {state.primary}\n")

    def _send_all_to(self, name: str) -> None:
        """Let HAProxy send new connections to a server, and end those to the other one."""
        others = [one for one in self.configuration.servers if one != name]
        self._tell_proxy(f"set map {self.folder / 'primary.map'} primary {name}")
        for other in others:
            self._tell_proxy(f"shutdown sessions server {other}/{other}")

    def _tell_proxy(self, command: str) -> None:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.settimeout(SECONDS)
            connection.connect(self.configuration.proxy)
            connection.sendall(f"{command}\n".encode())
            if answer := connection.recv(1000).decode().strip():
                raise PairError(f"HAProxy refused {command}: {answer}")

    @contextlib.contextmanager
    def _connected(self, name: str, seconds: int = SECONDS) -> Iterator[Any]:
        server = self.configuration.servers[name]
        connection = MySQLdb.connect(
            host=server.host,
            port=server.port,
            user=self.configuration.user,
            passwd=self.configuration.password,
            connect_timeout=SECONDS,
            read_timeout=seconds,
            autocommit=True,
            cursorclass=DictCursor,
        )
        with contextlib.closing(connection):
            yield connection.cursor()


def _write(path: Path, text: str) -> None:
    """Replace a file, durably."""
    new = path.with_suffix(".new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def main() -> int:
    """Run a command."""
    if len(sys.argv) != 3 or sys.argv[2] not in COMMANDS:
        print(f"usage: python -m deploy.pair FOLDER {'|'.join(COMMANDS)}", file=sys.stderr)
        return 2
    pair = Pair(Path(sys.argv[1]))
    try:
        getattr(pair, sys.argv[2])()
        print(json.dumps(pair.status(), default=str, indent=1))
    except (PairError, MySQLdb.Error, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
