"""A storm of likes, comments, blocks: `make chaos ARGS="notifications --operations 20000"`.

In the end the notifications must match the facts, and no notification may be read that was not
shown. Exits with 1 otherwise. Zero failures in n independent trials still allow a true rate below
3/n at 95 %.
"""

import argparse
import os
import secrets
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interactions.tests.notifying.notification_storm import Findings


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description="Random doings of many threads on few people.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--operations", type=int, default=5000, help="total number of operations")
    parser.add_argument("--round", type=int, default=500, help="operations between two checks")
    parser.add_argument("--threads", type=int, default=8, help="concurrent threads")
    parser.add_argument("--people", type=int, default=5, help="the fewer, the hotter each pair")
    parser.add_argument("--relays", type=int, default=3, help="threads that deliver events")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    return parser.parse_args()


def main() -> int:
    """Run the storm in rounds and report it."""
    options = arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django

    django.setup()

    from accounts import actions as accounts_actions
    from interactions.tests.notifying.notification_storm import Findings, scene, storm

    given = ", ".join(f"{key} {value}" for key, value in vars(options).items())
    print(f"# storm on notifications: {given}", flush=True)
    total, number = Findings(), 0
    while total.operations < options.operations:
        number += 1

        def person(name: str, number: int = number) -> object:
            return accounts_actions.register(
                username=f"{name}{number}", nickname="Storm", password=secrets.token_hex(8)
            )

        found = storm(
            scene(
                person("host"),
                [person(f"storm{one}x") for one in range(options.people)],
                person("outlaw"),
            ),
            threads=options.threads,
            operations=min(options.round, options.operations - total.operations),
            relays=options.relays,
            seed=options.seed * 1000 + number,
        )
        for name, value in vars(found).items():
            setattr(total, name, getattr(total, name) + value)
        print(f"{total.operations} operations", flush=True)
    return report(total)


def report(total: "Findings") -> int:
    """Print the figures of a storm; return 1 if something was wrong."""
    from bench.support.harness import lines

    rows: list[list[object]] = [
        ["operations", total.operations, ""],
        ["refused by the rules (blocked, gone)", total.refused, ""],
        ["notifications compared with the facts", total.compared, ""],
        ["pages read while it ran", total.looked, ""],
        ["differences from the facts", len(total.differences), "0"],
        ["read without having been shown", len(total.unseen), "0"],
        ["errors shown to a user", len(total.errors), "0"],
        ["operations a second", f"{total.operations / total.seconds:.0f}", ""],
    ]
    print("\n".join(["", *lines(rows, ["figure", "is", "must be"])]), flush=True)
    wrong = [*total.differences, *total.unseen, *total.errors]
    for one in wrong[:20]:
        print("found:", repr(one))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
