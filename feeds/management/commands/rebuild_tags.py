"""`manage.py rebuild_tags`: compare the tags of all posts with their words, while the site runs."""

from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from feeds.models import Post
from feeds.tags import indexing, ranking


class Command(BaseCommand):
    """May be stopped and run again at any time; posts from before there were tags get theirs."""

    help = "Rebuild the tags of all posts from their words, and rank the tags in use."

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, with a progress bar on a terminal, and print a summary."""
        found = indexing.Rebuilt()
        last: int | None = 0
        with tqdm(total=Post.objects.count(), unit=" posts", disable=None, leave=False) as bar:
            while last is not None:
                last = indexing.rebuild(last, found)
                bar.update(found.posts - bar.n)
        in_use = ranking.rank()
        self.stdout.write(f"posts {found.posts}, mended {found.mended}, tags in use {in_use}")
