"""The machine of a site loses its power while people write: `make chaos ARGS="power --cuts 50"`.

All processes of an installed site are killed at once, its database too, and the machine boots
again. After each cut every post that the site acknowledged is there, once, and nothing stands in
the way of new ones. At the end counts and feeds are compared with their definitions.

The kernel of this machine goes on, so writes that it had taken count as written. That the database
also waits for the disk is its setting (`site doctor` checks it), and not shown here.
"""

import json
import random
import statistics
import sys
import time

from bench.support import harness
from chaos.machines import installed
from chaos.machines.nspawn import Machine, missing
from chaos.machines.writers import Writer, write_until

NAMES = ("anna", "bert", "cyrus")
RETURN_SECONDS = 60


def lost(writers: list[Writer]) -> list[str]:
    """Return which acknowledged posts are missing, and which are there twice."""
    wrong = []
    for writer in writers:
        found = writer.person.all_posts()
        wrong += [f"{text} is lost" for text in writer.times if text not in found]
        wrong += [f"{text} is there twice" for text in set(found) if found.count(text) > 1]
    return wrong


def answers(writer: Writer) -> bool:
    """Return whether the site shows a feed."""
    try:
        return writer.person.get("/api/v1/feed").status == 200
    except OSError:
        return False


def main() -> int:
    """Run the trial."""
    options = harness.arguments("Power cuts under writes.", {"--cuts": 50})
    if reason := missing():
        print(f"skipped: {reason}", flush=True)
        return 0
    dice = random.Random(options.seed)
    wrong: list[str] = []
    returns: list[float] = []
    with Machine("power") as machine:
        installed.install(machine, "BUDGETS=0")
        writers = [Writer(installed.visitor(machine), name) for name in NAMES]
        for cut in range(options.cuts):
            with write_until(writers):
                time.sleep(dice.uniform(0.5, 2.5))
                machine.power_off()
            machine.boot()
            began = time.monotonic()
            while not answers(writers[0]) and time.monotonic() < began + RETURN_SECONDS:
                time.sleep(0.1)
            returns.append(time.monotonic() - began)
            found = lost(writers)
            wrong += found
            number = sum(len(writer.times) for writer in writers)
            print(
                f"cut {cut + 1}: {number} posts, back after {returns[-1]:.1f} s, {found}",
                flush=True,
            )
        for command in ("recount", "recount_interactions", "verify_feeds"):
            print(machine.output("site", "manage", command), flush=True)
        if failed := machine.output("systemctl", "--failed", "--no-legend").strip():
            wrong.append(failed)
        posts = sum(len(writer.times) for writer in writers)
    print(
        json.dumps(
            {
                "cuts": options.cuts,
                "posts": posts,
                "median": statistics.median(returns),
                "longest": max(returns),
                "wrong": wrong,
            }
        )
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
