"""The caches of a site fail under load: `make chaos ARGS="caches --kind cluster --rounds 20"`.

Two machines with two HTTP processes and a worker each share a database, a broker, and a cache:
a Redis Cluster of three masters and three replicas (`--kind cluster`), or one Redis (`single`).
Couples of an author and a reader post, edit, hide and delete, like, follow, block, sign in and
out. Directly after each acknowledged write the reader asks other processes, and the whole page must
be as it was written. Others read all the time, which fills the caches.

In each round something fails: a server of the cache is killed or frozen, slots move to another one
and back, a machine of the site cannot reach a server that the other machine reaches, or all servers
are killed. After each round all pages are compared on all processes, and at the end all home feeds
with their definition.
"""

import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.support import harness
from chaos.machines import cache_servers, links
from chaos.machines.cache_servers import Caches, hits_between
from chaos.machines.checkers import Checkers
from chaos.machines.journal import CALM
from chaos.machines.links import Links
from chaos.machines.report import wait
from chaos.machines.sites import Sites, sites

MACHINES = 2
ENV = {
    "ACCESS_MINUTES": "1440",
    "ALLOWED_HOSTS": "localhost",
    "BUDGETS": "0",
    "CLIENT_POLICY": "type",
    "DEMO": "0",
    "NAME_POLICY": "open",
    "PASSWORD_POLICY": "asvs",
    "SITE_URL": "http://localhost",
    "TRUSTED_PROXIES": "1",
}
CALM_SECONDS, AFTER_SECONDS = 8.0, 10.0
SAMPLE_SECONDS = 0.5
EVENTS_SECONDS = 120
# So many keys a request finds once the caches are filled.
WARM_HITS, WARM_SECONDS = 5.0, 60
# The cache is used as before if requests find this part of the keys that they find without faults.
USED = 0.7
EVENTS = "from socialsite.core.models import Event; print('events', Event.objects.count())"


class Trial:
    """The couples, the readers, and the figures."""

    def __init__(self, site: Sites, caches: Caches, couples: int, seed: int) -> None:
        self.site, self.caches = site, caches
        self.dice = random.Random(seed)
        self.checkers = Checkers(site.http, couples, self.dice)
        self.journal = self.checkers.journal
        self._stop = threading.Event()
        # Times, requests and hits, for the share of requests that the caches answer.
        self.samples = list[tuple[float, int, int]]()
        self._sampler = threading.Thread(target=self._sample)
        self.wrong = list[str]()
        self.rounds = list[dict[str, object]]()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let everybody write and read for the block."""
        with self.checkers.running():
            self._sampler.start()
            try:
                yield
            finally:
                self._stop.set()
                self._sampler.join()

    def warm_up(self) -> None:
        """Wait until the cache is used: a trial without it would show nothing."""
        if not wait(
            lambda: self._share(time.monotonic() - 2, time.monotonic()) > WARM_HITS,
            seconds=WARM_SECONDS,
        ):
            self.wrong.append("the cache is not used")

    def round(self, kind: str) -> None:
        """Let something fail, and compare everything after it."""
        time.sleep(CALM_SECONDS)
        calm = self._share(time.monotonic() - CALM_SECONDS, time.monotonic())
        wrong, failed = len(self.journal.wrong), len(self.journal.failures)
        began, self.journal.fault = time.monotonic(), kind
        hit = self.caches.faults[kind](self.dice)
        over = time.monotonic()
        time.sleep(AFTER_SECONDS)
        self.checkers.compare()
        self.journal.fault = CALM
        self.rounds.append(
            {
                "fault": kind,
                "of": hit,
                "seconds": round(over - began, 1),
                "failed": len(self.journal.failures) - failed,
                "wrong": len(self.journal.wrong) - wrong,
                "hits a request before": round(calm, 1),
                "cache used again after": self._used_again(began, calm),
            }
        )
        examples = [text for _, _, text in self.journal.failures[failed : failed + 5]]
        print(json.dumps(self.rounds[-1] | {"failures": examples}), flush=True)

    # --- use of the cache -------------------------------------------------------------------------
    def _sample(self) -> None:
        before, requests = self.caches.counts(), sum(self.journal.answers.values())
        while not self._stop.wait(SAMPLE_SECONDS):
            counts, now = self.caches.counts(), sum(self.journal.answers.values())
            hits = hits_between(before, counts)
            self.samples.append((time.monotonic(), now - requests, hits))
            before, requests = before | counts, now

    def _share(self, since: float, until: float) -> float:
        """Return the keys that a request found in the cache, within some time."""
        rows = [(asked, hits) for at, asked, hits in self.samples if since < at <= until]
        return sum(hits for _, hits in rows) / max(1, sum(asked for asked, _ in rows))

    def _used_again(self, began: float, calm: float) -> float:
        """Return after how many seconds requests find keys as before; 0 if they always did."""
        last = 0.0
        for at, _, _ in self.samples:
            if at > began + 2 * SAMPLE_SECONDS and self._share(at - 1, at) < USED * calm:
                last = at - began
        return round(last, 1)

    # --- the end ----------------------------------------------------------------------------------
    def judge(self) -> None:
        """Compare feeds and counts with their definitions, after all events were handled."""
        if not wait(lambda: "events 0" in self._events(), seconds=EVENTS_SECONDS):
            self.wrong.append("events are left")
        for command in ("recount", "recount_interactions", "verify_feeds"):
            code, text = self.site.manage(command)
            print(command, text, flush=True)
            if code:
                self.wrong.append(f"{command}: {text}")

    def _events(self) -> str:
        return self.site.manage("shell", "-c", EVENTS)[1]


def main() -> int:
    """Run the rounds and report them."""
    options = harness.arguments(
        "The caches fail.",
        {"--rounds": 5, "--couples": 3},
        {"--kind": "cluster", "--faults": "", "--logs": ""},
    )
    if options.kind not in cache_servers.KINDS:
        print(f"--kind is one of {list(cache_servers.KINDS)}")
        return 2
    if why := links.missing():
        print(f"{why}; the trial is skipped")
        return 0
    with contextlib.ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-caches-"))
        folder = Path(name)
        folder.chmod(0o711)  # Redis runs under another account
        number, start = cache_servers.KINDS[options.kind]
        network = stack.enter_context(Links(MACHINES + number))
        caches = stack.enter_context(start(folder, network, MACHINES))
        env = {**os.environ, **ENV, "REDIS_URL": caches.url}
        site = stack.enter_context(sites(folder, network.hosts[:MACHINES], env))
        trial = Trial(site, caches, options.couples, options.seed)
        faults = options.faults.split(",") if options.faults else [*caches.faults]
        with trial.running():
            trial.warm_up()
            for turn in range(options.rounds):
                trial.round(faults[turn % len(faults)])
        trial.judge()
        if options.logs:  # of the site's processes
            shutil.copytree(folder, options.logs, ignore=_no_logs, dirs_exist_ok=True)
    return report(trial)


def _no_logs(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".log")]


def report(trial: Trial) -> int:
    """Print the figures of all rounds; return the exit code."""
    journal = trial.journal
    figures = journal.summary()
    for kind, row in figures.items():
        rounds = [one for one in trial.rounds if one["fault"] == kind]
        row["cache used again after s"] = [one["cache used again after"] for one in rounds]
        print(json.dumps({"fault": kind, **row}))
    wrong = [f"{one.fault}: {one.text}; right after {one.seconds}" for one in journal.wrong]
    wrong += trial.wrong
    found = {
        "writes": dict(journal.writes),
        "acknowledged": sum(journal.writes.values()),
        "checks": dict(journal.checks),
        "compared": sum(journal.checks.values()),
        "failed": len(journal.failures),
        "wrong": wrong[:20],
        "number": len(wrong),
    }
    print(json.dumps(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
