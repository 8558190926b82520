"""`manage.py add_placeholders`: the placeholders of pictures from before there were any."""

from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from feeds import actions
from feeds.models import PostContent
from socialsite.core.media import picture_placeholders


class Command(BaseCommand):
    """May be stopped and run again at any time, also while the site runs."""

    help = "Compute missing placeholders of pictures, and add them to the posts that show these."

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute and copy, with progress bars on a terminal, and print a summary."""
        made, last = 0, 0
        total = picture_placeholders.lacking().count()
        with tqdm(total=total, unit=" pictures", disable=None, leave=False) as bar:
            while True:
                ids, added = picture_placeholders.add(last)
                if not ids:
                    break
                made, last = made + added, ids[-1]
                bar.update(len(ids))
        posts = changed = 0
        total = PostContent.objects.count()
        with tqdm(total=total, unit=" posts", disable=None, leave=False) as bar:
            place: int | None = 0
            while place is not None:
                place, read, written = actions.copy_placeholders(place)
                posts, changed = posts + read, changed + written
                bar.update(read)
        self.stdout.write(f"pictures {made}, posts {posts}, changed {changed}")
