"""Everything past one machine fails under load: `make chaos ARGS="cluster --hours 1"`.

Three machines (`deploy.cluster`) have a part of each tier, in network namespaces. At random one of
them is killed, now and then with the data of its database; stands still; runs at a tenth of its
speed; loses its network; or reaches the entrance, but no other machine. It comes back, and joins.

Meanwhile people post, read, like and follow by the entrance, with WebSockets open: that gives
availability and latency. Couples (`chaos.machines.couples`) write straight to a process of any
machine, and compare what other processes show directly after the answer, with revoked tokens too.

In the end no acknowledged write may be lost on any database, all tables are equal, each post is in
each feed once, no event is left, and counts and feeds equal their definitions.
"""

import contextlib
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.support import harness
from chaos.machines import links
from chaos.machines.cache_servers import ClusterCaches, hits_between
from chaos.machines.checkers import Checkers
from chaos.machines.journal import CALM, Journal
from chaos.machines.ledger import Fickle, checksums, lost
from chaos.machines.links import LINKS, Links
from chaos.machines.load import NAMES, Load
from chaos.machines.report import wait
from chaos.machines.sites import Process
from chaos.machines.visitor import Neighbour
from deploy import cluster
from deploy.cluster import MACHINES, Cluster
from deploy.services import databases, site_processes

ENV = {
    "ACCESS_MINUTES": "1440",
    "BUDGETS": "0",
    "CLIENT_POLICY": "type",
    "DEMO": "0",
    "NAME_POLICY": "open",
    "PASSWORD_POLICY": "asvs",
}
# How often each fault is chosen, and how long it lasts.
FAULTS = {"kill": 3, "lose": 1, "freeze": 2, "slow": 2, "cut": 2, "apart": 2}
AWAY_SECONDS = 12.0
CALM_SECONDS, AFTER_SECONDS = 10.0, 5.0
# A slow machine runs for the first time of each turn, and stands still for the second.
RUNS_SECONDS, STANDS_SECONDS = 0.02, 0.18
SOCKETS, PEOPLE = 6, 3
PAUSE_SECONDS, COUPLE_SECONDS = 0.5, 0.5
EVENTS_SECONDS = 400
SHORT_SECONDS = 600  # without a number of hours or minutes
# In a calm a request finds at least so many keys in the cache, and hardly any fails.
CALM_HITS, CALM_AVAILABILITY = 1.0, 0.95
EVENTS = "SELECT COUNT(*) FROM core_event"


class Trial:
    """A site on machines that fail."""

    def __init__(self, site: Cluster, network: Links, couples: int, dice: random.Random) -> None:
        self.site, self.network, self.dice = site, network, dice
        self.checkers = Checkers(processes(site), couples, dice, COUPLE_SECONDS)
        # By the entrance.
        self.journal = Journal()
        people = [Neighbour(site.port) for _ in NAMES[:PEOPLE]]
        self.load = Load(people, dice, SOCKETS, PAUSE_SECONDS, self.journal)
        ids = [int(w.person.get("/api/v1/users/me").json["id"]) for w in self.load.writers]
        self.fickle = Fickle(Neighbour(site.port), "gina", ids)
        self.faults = {
            "kill": self._kill,
            "lose": self._lose,
            "freeze": self._freeze,
            "slow": self._slow,
            "cut": self._cut,
            "apart": self._apart,
        }
        self._caches = ClusterCaches(site.caches, network, MACHINES)
        self.wrong, self.rounds = list[str](), list[dict[str, Any]]()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let everybody write and read for the block."""
        self.load.start()
        self.fickle.start()
        try:
            with self.checkers.running():
                yield
        finally:
            self.fickle.stop()
            refused = len(self.load.failures)
            self.load.stop()
            self.wrong += self.load.lost
            # Sockets that were refused while machines were away are no failures of requests.
            del self.load.failures[refused:]

    def fail(self, kind: str) -> None:
        """Let a machine fail, wait until everything is there again, and compare all pages."""
        hits = self._calm()
        number, writes = self.dice.randrange(MACHINES), self.site.writer()
        seen, began = len(self.journal.failures), time.monotonic()
        self._name(kind)
        self.faults[kind](number)
        self.site.boot(number)
        over = time.monotonic()
        self.site.wait()
        whole = time.monotonic()
        time.sleep(AFTER_SECONDS)
        self._name(CALM)
        self.checkers.compare()
        failures = [f"{at:.1f} {fault}: {text}" for at, fault, text in self.journal.failures[seen:]]
        self.rounds.append(
            {
                "fault": kind,
                "machine": number + 1,
                "wrote the database": writes == number,
                "seconds": round(over - began, 1),
                "whole after": round(whole - over, 1),
                "hits a request before": round(hits, 1),
                "failed": len(failures),
                "wrong": len(self.checkers.journal.wrong),
            }
        )
        print(json.dumps(self.rounds[-1] | {"ended": time.time(), "failures": failures[:9]}))
        sys.stdout.flush()

    def _calm(self) -> float:
        """Wait, and return how many keys a request found in the cache meanwhile."""
        counts, requests = self._caches.counts(), self._requests()
        time.sleep(CALM_SECONDS)
        hits = hits_between(counts, self._caches.counts())
        found = hits / max(1, self._requests() - requests)
        if found < CALM_HITS:  # a trial without the cache would show nothing
            self.wrong.append(f"only {found:.2f} hits a request after round {len(self.rounds)}")
        return found

    def _requests(self) -> int:
        both = (self.journal, self.checkers.journal)
        return sum(sum(one.answers.values()) for one in both)

    def _name(self, fault: str) -> None:
        self.journal.fault = self.checkers.journal.fault = fault

    # --- faults -----------------------------------------------------------------------------------
    def _kill(self, number: int) -> None:
        self.site.kill(number)
        time.sleep(AWAY_SECONDS)

    def _lose(self, number: int) -> None:
        """Kill a machine, and lose the data of its database."""
        self._kill(number)
        self.site.machines[number].database.wipe()

    def _freeze(self, number: int) -> None:
        self.site.machines[number].signal(signal.SIGSTOP)
        time.sleep(AWAY_SECONDS)
        self.site.machines[number].signal(signal.SIGCONT)

    def _slow(self, number: int) -> None:
        machine, end = self.site.machines[number], time.monotonic() + AWAY_SECONDS
        while time.monotonic() < end:
            machine.signal(signal.SIGSTOP)
            time.sleep(STANDS_SECONDS)
            machine.signal(signal.SIGCONT)
            time.sleep(RUNS_SECONDS)

    def _cut(self, number: int) -> None:
        for link in LINKS:
            self.network.cut(number, link)
        time.sleep(AWAY_SECONDS)
        for link in LINKS:
            self.network.mend(number, link)

    def _apart(self, number: int) -> None:
        """Let a machine reach the entrance only."""
        self.network.cut(number, "back")
        self.network.isolate(number)
        time.sleep(AWAY_SECONDS)
        self.network.unite(number)
        self.network.mend(number, "back")

    # --- the end ----------------------------------------------------------------------------------
    def judge(self) -> None:
        """Compare what was acknowledged with what the site has."""
        self.checkers.compare()
        calm = self.journal.summary()[CALM]
        if calm["failed"] > (1 - CALM_AVAILABILITY) * calm["requests"]:
            self.wrong.append(f"{calm['failed']} of {calm['requests']} requests failed in calms")
        self.wrong += [f"lost: {one}" for one in self.load.missing()]
        if not wait(lambda: self._events() == 0, seconds=EVENTS_SECONDS):
            self.wrong.append(f"{self._events()} events are left")
        for command in ("recount", "recount_interactions", "verify_feeds"):
            print(command, self.site.machines[0].site.manage(command), flush=True)

    def _events(self) -> int:
        with closing(self.site.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(EVENTS)
            (found,) = cursor.fetchone()
        return int(found)

    def compare_databases(self) -> None:
        """Compare the databases with what was acknowledged, and with each other.

        No process of the site runs now.
        """
        self.site.wait()
        sums = list[dict[str, int]]()
        for number, machine in enumerate(self.site.machines, start=1):
            with closing(machine.database.connect(read_timeout=120)) as connection:
                connection.select_db(databases.DATABASE_NAME)
                found = lost(connection, self.load, self.fickle)
                self.wrong += [f"lost on database {number}: {one}" for one in found]
                sums.append(checksums(connection))
        self.wrong += [
            f"table {name} differs: {[one.get(name) for one in sums]}"
            for name in sums[0]
            if len({one.get(name) for one in sums}) > 1
        ]


def processes(site: Cluster) -> list[Process]:
    """Return the HTTP processes of all machines."""
    return [
        Process(number, f"machine{number + 1} {name}", machine.site.socket(name))
        for number, machine in enumerate(site.machines)
        for name in site_processes.HTTP
    ]


def summary(trial: Trial) -> dict[str, object]:
    """Return what was done and found by fault."""
    rows = trial.journal.summary()
    for fault, row in rows.items():
        rounds = [one for one in trial.rounds if one["fault"] == fault]
        row["faults"] = len(rounds)
        row["availability"] = round(1 - row["failed"] / max(1, row["requests"]), 5)
        row["whole again after s"] = sorted(one["whole after"] for one in rounds)
    checked = trial.checkers.journal
    wrong = [f"{one.fault}: {one.text}; right after {one.seconds}" for one in checked.wrong]
    wrong += trial.wrong
    zeros = checked.zeros()
    zeros["lost"] += sum(one.startswith("lost") for one in trial.wrong)
    return {
        "by the entrance": rows,
        "answers": trial.load.answers,
        "posts": sum(len(writer.times) for writer in trial.load.writers),
        "likes": len(trial.load.likes),
        "follows": trial.fickle.acknowledged,
        "sockets": trial.load.sockets(),
        "writes of couples": dict(checked.writes),
        "pages compared": dict(checked.checks),
        **zeros,
        "wrong": wrong[:20],
        "number": len(wrong),
    }


def main() -> int:
    """Let machines fail for a time, and report it."""
    numbers = {"--hours": 0, "--minutes": 0, "--couples": 2}
    options = harness.arguments("All machines fail.", numbers, {"--faults": "", "--logs": ""})
    if why := links.missing() or cluster.missing():
        print(f"{why}; the trial is skipped")
        return 0
    dice = random.Random(options.seed)
    chosen = options.faults.split(",") if options.faults else [*FAULTS]
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-cluster-"))
        folder = Path(name)
        folder.chmod(0o711)  # servers run under another account
        network = stack.enter_context(Links(MACHINES))
        env = {**site_processes.environment(), **ENV}
        site = Cluster(folder, network.hosts, env, entrance=network.here)
        with site:
            trial = Trial(site, network, options.couples, dice)
            seconds = 3600 * options.hours + 60 * options.minutes or SHORT_SECONDS
            end = time.monotonic() + seconds
            with trial.running():
                while time.monotonic() < end:
                    (kind,) = dice.choices(chosen, [FAULTS[one] for one in chosen])
                    trial.fail(kind)
            trial.judge()
            for machine in site.machines:
                machine.site.stop()
            trial.compare_databases()
    found = summary(trial)
    print(json.dumps(found))
    return 1 if trial.wrong or trial.checkers.journal.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
