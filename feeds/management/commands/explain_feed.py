"""`manage.py explain_feed VIEWER POST`: why a post is in somebody's home feed, or why not."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from feeds.audit.explain import explain, find_id, find_reader
from feeds.audit.reasons import Code


class Command(BaseCommand):
    """Changes nothing; exits with 1 if the reader or the post is unknown."""

    help = "Explain why a post is in the home feed of a person, or why not."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the reader and the post."""
        parser.add_argument("viewer", help="a username or an id")
        parser.add_argument("post", help="an id")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the verdict and a line for each reason."""
        viewer = find_reader(options["viewer"])
        if viewer is None:
            raise CommandError(f"There is no user named {options['viewer']}.")
        post_id = find_id(options["post"])
        if post_id is None:
            raise CommandError(f"{options['post']} is not the id of a post.")
        found = explain(viewer.pk, post_id)
        verdict = "in" if found.shown else "not in"
        self.stdout.write(f"post {post_id} is {verdict} the feed of {viewer} ({viewer.pk})")
        self.stdout.write(f"row in the inbox: {'yes' if found.in_inbox else 'no'}")
        for reason in found.reasons:
            self.stdout.write(f"{reason.code:22} {reason.text}")
        if Code.NO_POST in found.codes:
            raise CommandError(f"There is no post {post_id}.")
