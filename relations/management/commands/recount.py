"""`manage.py recount`: compares the counters of relations with the rows, and repairs them."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from relations.counters import counts, recount
from relations.models import Relationship


class Command(BaseCommand):
    """Runs while the site runs; exits with 1 when a counter is wrong and was not repaired."""

    help = "Compare everybody's counters of relations with the rows."

    def add_arguments(self, parser: CommandParser) -> None:
        """Choose between checking only and repairing."""
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--fix", action="store_true", help="repair wrong counters")
        choice.add_argument("--dry-run", action="store_true", help="only check (the default)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, with a progress bar on a terminal, and print the result."""
        total = Relationship.objects.count()
        with tqdm(total=total, unit=" rows", disable=None, leave=False) as bar:
            try:
                found = recount.run(fix=options["fix"], progress=bar.update)
            except recount.AlreadyRunning as error:
                raise CommandError(str(error)) from None
        self.stdout.write(f"people    {found.people}, wrong {found.wrong}")
        for name in counts.BITS:
            self.stdout.write(f"{name:10}off by {found.drift[name]}")
        if found.wrong and options["fix"]:
            self.stdout.write("repaired")
        elif found.wrong:
            self.stdout.write("nothing was changed; --fix repairs it")
            sys.exit(1)
