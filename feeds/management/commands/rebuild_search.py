"""`manage.py rebuild_search`: compare the search index with all posts and names."""

from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from accounts.models import User
from accounts.naming import search as name_search
from feeds.discovery import rebuilding
from feeds.discovery.search import indexing


class Command(BaseCommand):
    """May be stopped and run again at any time, also while the site runs."""

    help = "Rebuild the search index of posts and people from their words and names."

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, with a progress bar on a terminal, and print a summary."""
        found = rebuilding.all_posts(indexing.repair)
        people = wrong = 0
        last: int | None = 0
        total = User.objects.count()
        with tqdm(total=total, unit=" people", disable=None, leave=False) as bar:
            while last is not None:
                ids, repaired = name_search.rebuild(last)
                people, wrong, last = people + len(ids), wrong + repaired, ids[-1] if ids else None
                bar.update(len(ids))
        self.stdout.write(
            f"posts {found.posts}, repaired {found.repaired}, people {people}, repaired {wrong}"
        )
