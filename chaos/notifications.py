"""A storm of likes, comments, blocks: `make chaos ARGS="notifications --operations 20000"`.

In the end the notifications must match the facts, and no notification may be read that was not
shown. Exits with 1 otherwise. Zero failures in n independent trials still allow a true rate below
3/n at 95 %. Facts and notifications are compared after each round of operations; the fewer people,
the hotter each pair.
"""

import sys

from bench.support import harness


def main() -> int:
    """Run the storm in rounds and report it."""
    options = harness.arguments(
        "Random writes of many threads on few people.",
        {"--operations": 5000, "--round": 500, "--threads": 8, "--people": 5, "--relays": 3},
    )
    harness.setup()
    from bench.support.people import register
    from interactions.tests.notifying.notification_storm import Findings, scene, storm

    report = harness.Report("storm on notifications", options)
    total, number = Findings(), 0
    while total.operations < options.operations:
        number += 1
        host, outlaw, *people = register(f"storm{number}x", options.people + 2)
        found = storm(
            scene(host, people, outlaw),
            threads=options.threads,
            operations=min(options.round, options.operations - total.operations),
            relays=options.relays,
            seed=options.seed * 1000 + number,
        )
        for name, value in vars(found).items():
            setattr(total, name, getattr(total, name) + value)
        report.say(f"{total.operations} operations")
    rows: list[list[object]] = [
        ["operations", total.operations],
        ["refused by the rules (blocked, gone)", total.refused],
        ["notifications compared with the facts", total.compared],
        ["pages read while it ran", total.looked],
        ["operations a second", f"{total.operations / total.seconds:.0f}"],
    ]
    report.rows(rows, ["figure", "is"])
    report.goal("differences from the facts", len(total.differences), exactly=0)
    report.goal("read without having been shown", len(total.unseen), exactly=0)
    report.goal("errors shown to a user", len(total.errors), exactly=0)
    report.examples([*total.differences, *total.unseen, *total.errors])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
