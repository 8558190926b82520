"""`manage.py recount_interactions`: compare the counts of interactions with their rows."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from interactions.actions import recount


class Command(BaseCommand):
    """Runs while the site runs; exits with 1 if a count was wrong and was not fixed."""

    help = "Compare likes, comments, reposts, bookmarks, votes, replies, reports with their rows."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: only check, or fix."""
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--fix", action="store_true", help="fix wrong counts")
        choice.add_argument("--dry-run", action="store_true", help="only report (the default)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare, with a progress bar on a terminal, and print the differences."""
        with tqdm(total=recount.total(), unit=" rows", disable=None, leave=False) as bar:
            found = recount.run(fix=options["fix"], progress=bar.update)
        self.stdout.write(f"rows          {found.rows}, wrong {found.wrong}")
        for name in recount.COUNTERS:
            self.stdout.write(f"{name:14}off by {found.drift[name]}")
        if found.wrong and options["fix"]:
            self.stdout.write("fixed")
        elif found.wrong:
            self.stdout.write("nothing was changed; use --fix")
            sys.exit(1)
