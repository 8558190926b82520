"""A site on several machines behind HAProxy: `make chaos ARGS="cluster --rounds 10"`.

People who follow each other post, read and like, one request after the other, and others keep
WebSockets open. In each round a machine (HTTP, sockets, workers, nginx) is killed, or frozen for a
while, and comes back. Only requests that were at this machine may fail: at most one of each thread,
and none later than SETTLED seconds after the fault. In the end every acknowledged post is in each
feed once, no event is left, every entry of the schedule was sent by one machine at a time, and
counts and feeds equal their definitions.
"""

import json
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.support import harness
from chaos.machines.load import NAMES, RETURN_SECONDS, Load
from chaos.machines.report import wait
from chaos.machines.visitor import Neighbour
from deploy.cluster import Cluster, cluster
from deploy.stack import Stack

MACHINES, SOCKETS = 3, 30
ENV = {"BUDGETS": "0", "DEMO": "0", "PASSWORD_POLICY": "asvs", "NAME_POLICY": "open"}
CALM_SECONDS, FROZEN_SECONDS = 5, 12
# HAProxy asks every second, twice, and waits for a second for the answer.
SETTLED = {"kill": 3.0, "freeze": 6.0, "end": 3.0}
EVENTS = "from socialsite.core.models import Event; print('events', Event.objects.count())"
_FAILURE = re.compile(r"(\d+\.\d) ")


def fault(site: Cluster, kind: str, number: int) -> None:
    """Let a machine fail, and come back."""
    if kind == "freeze":
        site.signal(number, signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        site.signal(number, signal.SIGCONT)
        return
    if kind == "kill":
        site.signal(number, signal.SIGKILL)
    else:
        for name in reversed(site.machines[number].processes):
            if name not in ("database", "cache", "broker"):
                site.machines[number].stop(name)
    time.sleep(CALM_SECONDS)
    site.start(number)


def left(machine: Stack) -> str:
    """Return how many events wait in the outbox."""
    return machine.manage("shell", "-c", EVENTS)


def judge(kind: str, began: float, failures: list[str], threads: int) -> list[str]:
    """Return the failures of a round that are more, or later, than the fault explains."""
    late = [
        one
        for one in failures
        if (match := _FAILURE.match(one)) and float(match[1]) > began + SETTLED[kind]
    ]
    return late if len(failures) <= threads else [*failures, f"{kind}: {len(failures)} failures"]


def main() -> int:
    """Run the rounds and report them."""
    options = harness.arguments("Machines of a site fail under load.", {"--rounds": 9})
    dice = random.Random(options.seed)
    wrong, rounds = list[str](), list[dict[str, object]]()
    with tempfile.TemporaryDirectory(prefix="socialsite-cluster-") as folder:
        Path(folder).chmod(0o711)
        with cluster(Path(folder), MACHINES, ENV) as site:
            load = Load([Neighbour(site.port) for _ in NAMES], dice, SOCKETS)
            load.start()
            threads = 2 * len(NAMES)
            try:
                for turn in range(options.rounds):
                    time.sleep(CALM_SECONDS)
                    kind, number = list(SETTLED)[turn % len(SETTLED)], dice.randrange(MACHINES)
                    seen, began = len(load.failures), time.time()
                    fault(site, kind, number)
                    time.sleep(CALM_SECONDS)
                    found = load.failures[seen:]
                    wrong += judge(kind, began, found, threads)
                    rounds.append({"fault": kind, "machine": number, "failed": len(found)})
                    print(json.dumps(rounds[-1] | {"at": began, "failures": found[:9]}), flush=True)
            finally:
                refused = len(load.failures)
                load.stop()
            # Sockets that were refused while their machine was away are no failures of requests.
            del load.failures[refused:]
            wrong += load.missing()
            machine = site.machines[0]
            if not wait(
                lambda: "events 0" in machine.manage("shell", "-c", EVENTS), seconds=RETURN_SECONDS
            ):
                wrong.append("events are left")
            for command in ("recount", "recount_interactions", "verify_feeds"):
                print(command, machine.manage(command), flush=True)
    found_in_all = {"answers": load.answers, "sockets": load.sockets(), "rounds": rounds}
    print(json.dumps({**found_in_all, "wrong": wrong[:20], "number": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
