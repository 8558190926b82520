"""An installed site is updated and rolled back under load: `make chaos ARGS="update --rounds 3"`.

The site of the version before is installed. Three people, who follow each other, post, read and
like, one request after the other, and others keep WebSockets open, which come back as pages do.
Meanwhile `site update` installs this version, `site rollback` takes it back, and `site reload`
reads the settings again. No request fails, every acknowledged post is in each feed once, no event
is left, and counts and feeds equal their definitions.
"""

import json
import random
import sys
import time

from bench.support import harness
from chaos.machines import installed
from chaos.machines.load import RETURN_SECONDS, Load
from chaos.machines.nspawn import Machine, missing
from chaos.machines.report import wait

# The commit of v0.1.0: a clone may lack the tag.
BEFORE = "ba8bcbc9"
NEW = "/root/new"
PEOPLE, SOCKETS = 3, 20
EVENTS = "from socialsite.core.models import Event; print('events', Event.objects.count())"


def change(machine: Machine, load: Load, rounds: int) -> None:
    """Update, take the update back and read the settings again, some times."""
    seen = 0
    for words in (["update", NEW], ["rollback"], ["reload"]) * rounds:
        began = time.time()
        machine.output("site", *words)
        found, seen = load.failures[seen:], len(load.failures)
        print(f"{words[0]} at {began:.1f}, {time.time() - began:.1f} s: {found}", flush=True)


def events(machine: Machine) -> str:
    """Return how many events wait in the outbox."""
    return machine.output("site", "manage", "shell", "-c", EVENTS)


def main() -> int:
    """Run the trial."""
    options = harness.arguments("Updates under load.", {"--rounds": 3}, {"--before": BEFORE})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    with Machine("update") as machine:
        installed.install(machine, "BUDGETS=0", version=options.before)
        machine.check_out(NEW)
        people = [installed.visitor(machine) for _ in range(PEOPLE)]
        load = Load(people, random.Random(options.seed), SOCKETS)
        load.start()
        try:
            change(machine, load, options.rounds)
        finally:
            load.stop()
        wrong = [*load.failures, *load.missing()]
        if not wait(lambda: "events 0" in events(machine), seconds=RETURN_SECONDS):
            wrong.append(f"left: {events(machine)}")
        for command in ("recount", "recount_interactions", "verify_feeds"):
            machine.output("site", "manage", command)
        if wrong:
            units = ("-u", "socialsite-sockets", "-u", "socialsite-nginx")
            print(machine.output("journalctl", "-o", "short-unix", "--no-pager", *units))
    found = {"answers": load.answers, "sockets": load.sockets(), "wrong": wrong[:20]}
    print(json.dumps({**found, "number": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
