"""A storm on few pairs: `make chaos ARGS="relations --operations 100000 --threads 16"`.

Exits with 1 if an invariant broke or a goal was missed. Zero failures in n independent trials still
allow a true rate below 3/n at 95 %. The fewer people, the hotter each pair. `--cap` is the largest
number of follows.
"""

import sys

from bench.support import harness


def main() -> int:
    """Run the storm and report it."""
    options = harness.arguments(
        "Random actions of many threads on few people.",
        {"--operations": 20_000, "--threads": 16, "--people": 5, "--relays": 6, "--cap": 3},
    )
    harness.setup()
    from django.conf import settings

    from bench.support.people import register
    from relations.tests.storm import storm

    settings.FOLLOW_LIMIT = options.cap
    people = register("storm", options.people)
    report = harness.Report("storm on relations", options)
    found = storm(
        people,
        threads=options.threads,
        operations=options.operations,
        relays=options.relays,
        cap=options.cap,
        seed=options.seed,
        progress=lambda done: done % 10_000 or print(f"{done} operations", flush=True),
    )
    drift = found.drift()
    rows: list[list[object]] = [
        ["operations", found.operations],
        ["refused by the rules (blocked, cap)", found.refused],
        ["real transitions", found.transitions],
        ["pairs seen by the reader while it ran", found.looked_at],
        ["deadlocks met and tried again (1213)", found.retries[1213]],
        ["lock waits that timed out (1205)", found.retries[1205]],
        ["operations a second", f"{found.operations / found.seconds:.0f}"],
        ["seconds", f"{found.seconds:.0f}"],
    ]
    report.rows(rows, ["figure", "is"])
    report.goal("illegal pairs seen or left", len(found.illegal), exactly=0)
    report.goal("breaks in the chains of versions", len(found.broken), exactly=0)
    report.goal("people seen above the cap", len(found.over_cap), exactly=0)
    report.goal("people whose counters drift after the drain", len(drift), exactly=0)
    report.goal("errors shown to a user, deadlocks included", len(found.errors), exactly=0)
    report.goal("deliveries put back by an error", len(found.relay_errors), exactly=0)
    report.goal("deadlocks in 10,000 operations", found.deadlocks_per_10_000, at_most=0.99)
    wrong = [*found.illegal, *found.broken, *found.over_cap, *drift.items(), *found.errors]
    report.examples([*wrong, *found.relay_errors])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
