"""`manage.py demo`: fill an empty site with demo data; a second run adds nothing."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from socialsite.demo import DEMO_LOGINS, seed


class Command(BaseCommand):
    """Run the seeding, with a progress bar on a terminal."""

    help = "Fill an empty site with demo people, follows, posts, comments and likes."
    # `serve` prints these at start.
    logins = (
        "Demo logins: "
        + ", ".join(f"{name} / {password}" for name, password in DEMO_LOGINS)
        + f" ({DEMO_LOGINS[0][0]} is an admin)",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add options for other sizes."""
        parser.add_argument("--people", type=int, default=300)
        parser.add_argument("--posts", type=int, default=3000)

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, and print how long it took."""
        began = time.monotonic()
        bar = tqdm(disable=None, leave=False)  # None: only on a terminal
        shown = ""

        def progress(what: str, done: int, total: int) -> None:
            nonlocal shown
            if what != shown:
                shown = what
                bar.reset(total)
                bar.set_description(what)
            bar.update(done - bar.n)

        try:
            seed(progress, people=options["people"], posts=options["posts"])
        finally:
            bar.close()
        if options["verbosity"] > 1:
            self.stdout.write(f"demo data complete after {time.monotonic() - began:.0f} s")
