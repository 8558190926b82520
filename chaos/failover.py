"""The database of a site fails under load: `make chaos ARGS="failover --kind galera"`.

People post, read, like and follow. Each time it is the server that writes which is killed, now
and then with its data, or whose machine loses its links: to the other servers, to HAProxy, or both.
It comes back, and joins.
While links are cut, the trial writes straight to each server too.

In the end each server must have every acknowledged write, all tables must be equal, no server may
have acknowledged a write after it lost the right to, and counts and feeds equal their definitions.
"""

import contextlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import MySQLdb

from bench.support import harness
from chaos.machines import links, nodes
from chaos.machines.ledger import Fickle, Probes, checksums, lost
from chaos.machines.links import Link
from chaos.machines.load import NAMES, Load
from chaos.machines.nodes import Nodes
from chaos.machines.report import wait
from chaos.machines.visitor import Neighbour
from deploy.services import databases
from deploy.stack import Stack

ENV = {"BUDGETS": "0", "DEMO": "0", "PASSWORD_POLICY": "asvs", "NAME_POLICY": "open"}
EVENTS = (
    "from socialsite.core.models import Event; rows = Event.objects.values("
    "'type', 'attempts', 'dead', 'applied', 'available_at', 'created_at', 'error');"
    "print('events', rows.count(), list(rows[:3]))"
)
# A failed event is tried again after pauses that grow to five minutes.
EVENTS_SECONDS = 400
CUTS: tuple[tuple[Link, ...], ...] = (("back",), ("back", "front"), ("front",))
CALM_SECONDS = 4
# For which a server is away at least.
AWAY_SECONDS = {"kill": 3, "wipe": 8, "cut": 12}
# So many kills for each of which the data of the server is gone too.
WIPES = 5
# After which a trial gives up: somebody has to help.
GIVE_UP_SECONDS = 120


class Trial:
    """A site on servers that fail."""

    def __init__(self, database: Nodes, site: Stack, people: int, dice: random.Random) -> None:
        self.database, self.site, self.dice = database, site, dice
        self.load = Load([Neighbour(site.port) for _ in NAMES[:people]], dice, people)
        ids = [int(w.person.get("/api/v1/users/me").json["id"]) for w in self.load.writers]
        self.fickle = Fickle(Neighbour(site.port), "gina", ids)
        self.probes = Probes(database)
        self.wrong = list[str]()
        self.rounds = list[dict[str, object]]()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let everybody write, for the block."""
        with closing(self._connect()) as connection:
            self.probes.start(connection)
        try:
            self.load.start()
            self.fickle.start()
            yield
        finally:
            self.probes.stop()
            self.fickle.stop()
            refused = len(self.load.failures)
            self.load.stop()
            self.wrong += self.load.lost
            # Sockets that were refused while the database was away are no failures of requests.
            del self.load.failures[refused:]

    def fail(self, kind: str, cut: tuple[Link, ...]) -> None:
        """Let the server that writes fail, wait until another one writes, and bring it back."""
        time.sleep(CALM_SECONDS)
        number, seen, began = self.writer(), len(self.load.failures), time.time()
        if kind != "cut":
            self.database.kill(number, wipe=kind == "wipe")
        else:
            self.database.cut(number, cut)
            self.probes.active.set()
        if not wait(lambda: self._first_write(began) > 0, seconds=GIVE_UP_SECONDS):
            raise SystemExit(f"nobody could write for {GIVE_UP_SECONDS} s")
        time.sleep(max(0.0, began + AWAY_SECONDS[kind] - time.time()))
        next_one = self.writer()
        if next_one == number:
            self.wrong.append(f"{kind} {cut}: server {number} still writes")
        failed = len(self.load.failures) - seen
        returned = time.time()
        self.database.bring_back(number, next_one)
        self.probes.active.clear()
        self.rounds.append(
            {
                "fault": "+".join((kind, *cut)),
                "server": number,
                "next": next_one,
                "seconds": round(self._first_write(began) - began, 2),
                "failed": failed,
                "failed later": len(self.load.failures) - seen - failed,
                "joined after": round(time.time() - returned, 1),
            }
        )
        found = self.load.failures[seen:]
        print(json.dumps(self.rounds[-1] | {"at": began, "failures": found[:6]}), flush=True)

    def _first_write(self, began: float) -> float:
        """Return when the first post that was sent after a moment was acknowledged; 0 if none."""
        found = [
            acknowledged
            for writer in self.load.writers
            for sent, acknowledged in list(writer.times.values())
            if sent > began
        ]
        return min(found, default=0.0)

    def writer(self) -> int:
        """Return the number of the server that HAProxy sends connections to."""
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
                    cursor.execute("SELECT @@datadir")
                    return int(Path(cursor.fetchone()[0]).parent.name.removeprefix("node")) - 1
            except MySQLdb.Error:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def judge(self) -> None:
        """Compare what was acknowledged with what is there, on the site and on each server."""
        self.wrong += self.load.missing()
        if not wait(lambda: "events 0" in self._events(), seconds=EVENTS_SECONDS):
            self.wrong.append("events are left")
        for command in ("recount", "recount_interactions", "verify_feeds"):
            print(command, self.site.manage(command), flush=True)

    def _events(self) -> str:
        found = self.site.manage("shell", "-c", EVENTS)
        print(found, flush=True)
        return found

    def compare(self) -> None:
        """Compare the servers with what was acknowledged and with each other; no site runs now."""
        self.database.wait()
        sums = list[dict[str, int]]()
        for number in range(self.database.number):
            with closing(self.database.connect(number)) as connection:
                connection.select_db(databases.DATABASE_NAME)
                found = lost(connection, self.load, self.fickle)
                found += self.probes.lost(connection)
                self.wrong += [f"server {number}: {one}" for one in found]
                sums.append(checksums(connection))
        self.wrong += [
            f"table {name} differs: {[one.get(name) for one in sums]}"
            for name in sums[0]
            if len({one.get(name) for one in sums}) > 1
        ]
        self.wrong += [f"two writers: {one}" for one in self.probes.forbidden]

    def _connect(self) -> Any:
        parts = urlsplit(self.database.url)
        return MySQLdb.connect(
            host=parts.hostname or "",
            port=parts.port or 0,
            user=parts.username or "",
            passwd=parts.password or "",
            connect_timeout=2,
            read_timeout=20,
        )


def plan(kills: int, cuts: int, dice: random.Random) -> list[tuple[str, tuple[Link, ...]]]:
    """Return the faults in a random order."""
    wipes = kills // WIPES
    faults: list[tuple[str, tuple[Link, ...]]] = [("kill", ())] * (kills - wipes)
    faults += [("wipe", ())] * wipes
    faults += [("cut", CUTS[number % len(CUTS)]) for number in range(cuts)]
    dice.shuffle(faults)
    return faults


def summary(trial: Trial) -> dict[str, object]:
    """Return the figures of all rounds: seconds until a write, and failed requests."""
    figures = dict[str, object]()
    for kind in sorted({str(one["fault"]) for one in trial.rounds}):
        rounds = [one for one in trial.rounds if one["fault"] == kind]
        seconds = [float(str(one["seconds"])) for one in rounds]
        failed = [int(str(one["failed"])) + int(str(one["failed later"])) for one in rounds]
        figures[kind] = {
            "faults": len(rounds),
            "seconds (median, most)": (
                round(statistics.median(seconds), 1),
                round(max(seconds), 1),
            ),
            "failed requests (median, most)": (statistics.median(failed), max(failed)),
        }
    return figures | {
        "posts": sum(len(writer.times) for writer in trial.load.writers),
        "likes": len(trial.load.likes),
        "follows": trial.fickle.acknowledged,
        "probes": len(trial.probes.acknowledged),
        "probes refused": dict(trial.probes.refused),
        "answers": trial.load.answers,
    }


def main() -> int:
    """Run the faults and report them."""
    numbers = {"--kills": 4, "--cuts": 3, "--people": 3}
    options = harness.arguments("The database fails.", numbers, {"--kind": "galera"})
    if options.kind not in nodes.KINDS:
        print(f"--kind is one of {list(nodes.KINDS)}")
        return 2
    if why := links.missing() or nodes.missing(options.kind):
        print(f"{why}; the trial is skipped")
        return 0
    dice = random.Random(options.seed)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-fail-")))
        folder.chmod(0o711)  # MariaDB runs under another account
        database = stack.enter_context(nodes.KINDS[options.kind](folder))
        (folder / "site").mkdir()
        with Stack(folder / "site", env={**ENV, "DATABASE_URL": database.url}) as site:
            trial = Trial(database, site, options.people, dice)
            with trial.running():
                for kind, cut in plan(options.kills, options.cuts, dice):
                    trial.fail(kind, cut)
            trial.judge()
        trial.compare()
    print(json.dumps({**summary(trial), "wrong": trial.wrong[:20], "number": len(trial.wrong)}))
    return 1 if trial.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
