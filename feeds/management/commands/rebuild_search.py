"""`manage.py rebuild_search`: compare the search index with all posts and names."""

from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from accounts.models import User
from accounts.naming import search as name_search
from feeds.models import Post
from feeds.search import indexing


class Command(BaseCommand):
    """May be stopped and run again at any time, also while the site runs."""

    help = "Rebuild the search index of posts and people from their words and names."

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, with a progress bar on a terminal, and print a summary."""
        found = indexing.Rebuilt()
        last: int | None = 0
        with tqdm(total=Post.objects.count(), unit=" posts", disable=None, leave=False) as bar:
            while last is not None:
                last = indexing.rebuild(last, found)
                bar.update(found.posts - bar.n)
        people = wrong = last = 0
        total = User.objects.count()
        with tqdm(total=total, unit=" people", disable=None, leave=False) as bar:
            while last is not None:
                ids, mended = name_search.rebuild(last)
                people, wrong, last = people + len(ids), wrong + mended, ids[-1] if ids else None
                bar.update(len(ids))
        self.stdout.write(
            f"posts {found.posts}, mended {found.mended}, people {people}, mended {wrong}"
        )
