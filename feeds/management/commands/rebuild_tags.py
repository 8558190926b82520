"""`manage.py rebuild_tags`: compare the tags of all posts with their words, while the site runs."""

from typing import Any

from django.core.management.base import BaseCommand

from feeds.discovery import rebuilding
from feeds.discovery.tags import indexing, ranking


class Command(BaseCommand):
    """May be stopped and run again at any time; posts from before there were tags get theirs."""

    help = "Rebuild the tags of all posts from their words, and rank the tags in use."

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, with a progress bar on a terminal, and print a summary."""
        found = rebuilding.all_posts(indexing.repair)
        in_use = ranking.rank()
        self.stdout.write(f"posts {found.posts}, repaired {found.repaired}, tags in use {in_use}")
