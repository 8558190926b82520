"""`manage.py verify_feeds`: compare home feeds with their definition, while the site runs."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from feeds.audit import verify
from feeds.audit.explain import find_reader


class Command(BaseCommand):
    """Changes nothing; exits with 1 if a feed differs from its definition."""

    help = "Compare the home feeds of a sample of people, or of one, with their definition."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options that select people and pages."""
        parser.add_argument("--sample", type=positive, default=verify.SAMPLE, help="people")
        parser.add_argument("--pages", type=positive, default=verify.PAGES, help="pages per person")
        parser.add_argument("--size", type=positive, default=verify.SIZE, help="posts per page")
        parser.add_argument("--user", help="only this person: a username or an id")

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify, with a progress bar on a terminal, and print the differences."""
        limits = {name: options[name] for name in ("sample", "pages", "size")}
        if options["user"] is None:
            with tqdm(total=options["sample"], unit=" people", disable=None, leave=False) as bar:
                found = verify.run(**limits, progress=lambda viewer_id: bar.update())
        else:
            viewer = find_reader(options["user"])
            if viewer is None:
                raise CommandError(f"There is no user named {options['user']}.")
            found = verify.verify(**limits, viewer_ids=[viewer.pk])
        self._print(found)
        if found.differences:
            sys.exit(1)

    def _print(self, found: verify.Report) -> None:
        self.stdout.write(f"people {found.viewers}, pages {found.pages}, wrong posts {found.posts}")
        if found.unsettled:
            self.stdout.write(f"pages that kept changing: {found.unsettled}")
        for difference in found.differences:
            self.stdout.write(f"reader {difference.viewer_id}, {difference.where}")
            for name in ("missing", "extra", "order"):
                if posts := getattr(difference, name):
                    self.stdout.write(f"  {name}: {', '.join(map(str, posts))}")
            for explanation in difference.explanations:
                for reason in explanation.reasons:
                    self.stdout.write(f"  {explanation.post_id} {reason.code}: {reason.text}")
        if found.differences:
            self.stdout.write("manage.py rebuild_inboxes --user repairs an inbox")


def positive(text: str) -> int:
    """Parse a number of at least 1; argparse reports the error for others."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(text)
    return int(text)
