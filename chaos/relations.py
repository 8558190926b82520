"""A storm on few pairs: `make chaos ARGS="relations --operations 100000 --threads 16"`.

Prints the results; exits with 1 if an invariant broke or a goal was missed. Zero failures in n
independent trials still allow a true rate below 3/n at 95 %.
"""

import argparse
import os
import secrets
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relations.tests.storm import Findings


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description="Random actions of many threads on few people.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--operations", type=int, default=20_000, help="total number of operations")
    parser.add_argument("--threads", type=int, default=16, help="concurrent threads")
    parser.add_argument("--people", type=int, default=5, help="the fewer, the hotter each pair")
    parser.add_argument("--relays", type=int, default=6, help="threads that deliver events")
    parser.add_argument("--cap", type=int, default=3, help="FOLLOW_LIMIT during the storm")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    return parser.parse_args()


def main() -> int:
    """Run the storm and report it."""
    options = arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django

    django.setup()
    from django.conf import settings

    from accounts import actions as accounts_actions
    from relations.tests.storm import storm

    settings.FOLLOW_LIMIT = options.cap
    people = [
        accounts_actions.register(
            username=f"storm{number}", nickname=f"Storm{number}", password=secrets.token_hex(8)
        )
        for number in range(options.people)
    ]
    given = ", ".join(f"{key} {value}" for key, value in vars(options).items())
    print(f"# storm on relations: {given}", flush=True)
    found = storm(
        people,
        threads=options.threads,
        operations=options.operations,
        relays=options.relays,
        cap=options.cap,
        seed=options.seed,
        progress=lambda done: done % 10_000 or print(f"{done} operations", flush=True),
    )
    return report(found)


def report(found: "Findings") -> int:
    """Print the figures of a storm; return 1 if an invariant broke or a goal was missed."""
    from bench.support.harness import lines

    drift = found.drift()
    rows: list[list[object]] = [
        ["operations", found.operations, ""],
        ["refused by the rules (blocked, cap)", found.refused, ""],
        ["real transitions", found.transitions, ""],
        ["pairs seen by the reader while it ran", found.looked_at, ""],
        ["illegal pairs seen or left", len(found.illegal), "0"],
        ["breaks in the chains of versions", len(found.broken), "0"],
        ["people seen above the cap", len(found.over_cap), "0"],
        ["people whose counters drift after the drain", len(drift), "0"],
        ["errors shown to a user, deadlocks included", len(found.errors), "0"],
        ["deliveries put back by an error", len(found.relay_errors), "0"],
        ["deadlocks met and tried again (1213)", found.retries[1213], ""],
        ["lock waits that timed out (1205)", found.retries[1205], ""],
        ["deadlocks in 10,000 operations", f"{found.deadlocks_per_10_000:.2f}", "below 1"],
        ["operations a second", f"{found.operations / found.seconds:.0f}", ""],
        ["seconds", f"{found.seconds:.0f}", ""],
    ]
    print("\n".join(["", *lines(rows, ["figure", "is", "must be"])]), flush=True)
    wrong = [*found.illegal, *found.broken, *found.over_cap, *drift.items(), *found.errors]
    for one in [*wrong, *found.relay_errors][:20]:
        print("found:", repr(one))
    return 1 if wrong or found.relay_errors or found.deadlocks_per_10_000 >= 1 else 0


if __name__ == "__main__":
    sys.exit(main())
