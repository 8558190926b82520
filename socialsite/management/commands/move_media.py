"""`manage.py move_media`: move uploads from the folder into the bucket of MEDIA_URL, or back."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.defaultfilters import filesizeformat
from tqdm import tqdm

from socialsite.core import moving_uploads
from socialsite.core.media.buckets import files as buckets


class Command(BaseCommand):
    """May be stopped and run again at any time, also while the site runs."""

    help = "Move pictures and videos from DATA_DIR/media into the bucket that MEDIA_URL names."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the direction."""
        parser.add_argument("--back", action="store_true", help="from the bucket into the folder")

    def handle(self, *args: Any, **options: Any) -> None:
        """Move all, with a progress bar on a terminal, and print a summary."""
        if not buckets.is_used():
            raise CommandError("MEDIA_URL names no bucket")
        moved = moved_bytes = 0
        move = moving_uploads.to_folder if options["back"] else moving_uploads.to_bucket
        with tqdm(total=moving_uploads.number(), unit=" uploads", disable=None, leave=False) as bar:
            for size in move():
                moved, moved_bytes = moved + bool(size), moved_bytes + size
                bar.update()
        self.stdout.write(f"moved {moved} pictures and videos, {filesizeformat(moved_bytes)}")
