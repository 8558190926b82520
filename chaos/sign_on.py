"""Races of sign-on by real threads on MariaDB: `make chaos ARGS="sign_on --rounds 1000"`.

Runs each race of `accounts/tests/sign_in/races.py` this often and prints illegal outcomes. A race
without a failure in n rounds fails in fewer than 3/n of the cases, at 95 %.
"""

import argparse
import os
import sys
import time


def main() -> int:
    """Run the races; return 1 if an outcome was illegal."""
    parser = argparse.ArgumentParser(description="Races of sign-on.")
    parser.add_argument("--rounds", type=int, default=1000, help="rounds of each race")
    parser.add_argument("--race", default="", help="run only this race")
    options = parser.parse_args()

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    from django.test import override_settings

    from accounts.tests.sign_in.races import RACES

    failed = 0
    print(f"{'race':34} {'rounds':>7} {'illegal':>8} {'at most':>9} {'seconds':>8}")
    # A cheap hash, as hashing is not measured here.
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        for name, race in RACES.items():
            if options.race not in ("", name):
                continue
            began, wrongs = time.monotonic(), []
            for _ in range(options.rounds):
                wrongs += race()
            failed += len(wrongs)
            bound = "" if wrongs else f"{3 / options.rounds:.2%}"
            took = time.monotonic() - began
            print(f"{name:34} {options.rounds:7} {len(wrongs):8} {bound:>9} {took:8.0f}")
            for wrong in sorted(set(wrongs)):
                print(f"    {wrongs.count(wrong)} x {wrong}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
