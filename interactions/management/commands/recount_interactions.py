"""`manage.py recount_interactions`: hold the counts of interactions to their rows."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from interactions import recount


class Command(BaseCommand):
    """Run while the site runs; exits with 1 when something is wrong and was not mended."""

    help = "Compare likes, comments, reposts, bookmarks, replies and open reports with their rows."

    def add_arguments(self, parser: CommandParser) -> None:
        """Look only, or mend."""
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--fix", action="store_true", help="mend what is wrong")
        choice.add_argument("--dry-run", action="store_true", help="only look (the default)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, with a progress bar where there is a terminal, and print what was found."""
        with tqdm(total=recount.total(), unit=" rows", disable=None, leave=False) as bar:
            found = recount.run(fix=options["fix"], progress=bar.update)
        self.stdout.write(f"rows          {found.rows}, wrong {found.wrong}")
        for name in recount.COUNTERS:
            self.stdout.write(f"{name:14}off by {found.drift[name]}")
        if found.wrong and options["fix"]:
            self.stdout.write("mended")
        elif found.wrong:
            self.stdout.write("nothing was changed; --fix mends it")
            sys.exit(1)
