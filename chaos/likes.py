"""A long history of likes: `make chaos ARGS="likes --steps 100000"`.

People like and unlike posts and comments. Others read while caches are filled, truncated, evicted,
emptied, dead, or stale after a process died after its commit. Every displayed flag is compared with
the table, and every count with its rows. Comments are on the first two posts; a cache has room for
`--kept` likes. Exits with 1 if a flag or count was wrong.
"""

import logging
import sys
import time

from bench.support import harness


def main() -> int:
    """Run the history and report it."""
    options = harness.arguments(
        "Random likes, readers and losses on few subjects.",
        {"--steps": 20_000, "--people": 4, "--posts": 5, "--kept": 2},
    )
    harness.setup()
    logging.getLogger("socialsite.core.redis").setLevel(logging.ERROR)  # it is killed on purpose
    from bench.support.people import register
    from feeds import actions as feeds_actions
    from interactions import cache
    from interactions.tests.likes.likes_storm import Storm

    cache.LIKED_MAX = cache.MINE_MAX = options.kept
    people = register("storm", options.people)
    posts = [feeds_actions.publish(people[0], content="hello").pk for _ in range(options.posts)]
    report = harness.Report("storm on likes", options)
    began = time.monotonic()
    found = Storm(people, posts, options.seed).run(
        options.steps, progress=lambda done: done % 10_000 or print(f"{done} steps", flush=True)
    )
    rows: list[list[object]] = [
        ["steps", found.steps],
        ["pages read", found.looks],
        ["flags compared with the table", found.flags],
        ["changes in the middle of a fill", found.between],
        ["seconds", f"{time.monotonic() - began:.0f}"],
    ]
    report.rows(rows, ["figure", "is"])
    report.goal("wrong flags", len(found.wrong), exactly=0)
    report.goal("counts that differ from their rows", len(found.drift), exactly=0)
    report.examples([*found.wrong, *found.drift])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
