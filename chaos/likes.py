"""A long history of likes: `make chaos ARGS="likes --steps 100000"`.

People like and unlike posts and comments. Others read while caches are filled, truncated, evicted,
emptied, dead, or stale after a process died after its commit. Every displayed flag is compared with
the table, and every count with its rows. Exits with 1 if one was wrong.
"""

import argparse
import logging
import os
import secrets
import sys
import time


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description="Random likes, readers and losses on few subjects.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=20_000, help="total number of steps")
    parser.add_argument("--people", type=int, default=4, help="people who like and read")
    parser.add_argument("--posts", type=int, default=5, help="comments are on the first two")
    parser.add_argument("--kept", type=int, default=2, help="likes that a cache has room for")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    return parser.parse_args()


def main() -> int:
    """Run the history and report it."""
    options = arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django

    django.setup()
    logging.getLogger("socialsite.core.redis").setLevel(logging.ERROR)  # it is killed on purpose
    from accounts import actions as accounts_actions
    from bench.support.harness import lines
    from feeds import actions as feeds_actions
    from interactions import cache
    from interactions.tests.likes.likes_storm import Storm

    cache.LIKED_MAX = cache.MINE_MAX = options.kept
    people = [
        accounts_actions.register(
            username=f"storm{number}", nickname=f"Storm{number}", password=secrets.token_hex(8)
        )
        for number in range(options.people)
    ]
    posts = [feeds_actions.publish(people[0], content="hello").pk for _ in range(options.posts)]
    given = ", ".join(f"{key} {value}" for key, value in vars(options).items())
    print(f"# storm on likes: {given}", flush=True)
    began = time.monotonic()
    storm = Storm(people, posts, options.seed)
    found = storm.run(
        options.steps, progress=lambda done: done % 10_000 or print(f"{done} steps", flush=True)
    )
    rows: list[list[object]] = [
        ["steps", found.steps, ""],
        ["pages looked at", found.looks, ""],
        ["flags held against the table", found.flags, ""],
        ["changes in the middle of a fill", found.between, ""],
        ["flags that were wrong", len(found.wrong), "0"],
        ["counts that were not their rows", len(found.drift), "0"],
        ["seconds", f"{time.monotonic() - began:.0f}", ""],
    ]
    print("\n".join(["", *lines(rows, ["figure", "is", "must be"])]), flush=True)
    for one in [*found.wrong, *found.drift][:20]:
        print("found:", repr(one))
    return 1 if found.wrong or found.drift else 0


if __name__ == "__main__":
    sys.exit(main())
