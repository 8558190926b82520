"""`manage.py fanout`: the open deliveries with their progress, and the last finished ones."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from feeds.delivery.fanout import progress
from feeds.delivery.fanout.progress import Progress

HEAD = (
    f"{'post':20} {'author':20} {'mode':6} {'state':7} {'chunks':>11} {'delivered':>10} {'age':>9}"
    f" {'rows/s':>9} {'held':>5} {'expired':>7}"
)
WATCH_SECONDS = 1.0


class Command(BaseCommand):
    """Reads only; may run beside the site at any time."""

    help = "Show open deliveries of posts and the last finished ones."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument("--watch", action="store_true", help="refresh each second until Ctrl-C")
        parser.add_argument("--post", type=int, metavar="ID", help="only this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a table; on a terminal, update it in place."""
        if not options["watch"]:
            self._show(options["post"])
            return
        try:
            while True:
                if self.stdout.isatty():
                    self.stdout.write("\033[2J\033[H", ending="")
                self._show(options["post"])
                time.sleep(WATCH_SECONDS)
        except KeyboardInterrupt:
            return

    def _show(self, post_id: int | None) -> None:
        found = progress.read(post_id)
        if post_id is not None and not found:
            raise CommandError(f"no delivery of post {post_id}: not pushed, or already purged")
        unfinished = sum(one.state != "DONE" for one in found)
        more = " or more" if unfinished == progress.OPEN_MAX else ""
        self.stdout.write(f"{unfinished}{more} open, {len(found) - unfinished} finished shown")
        for line in [HEAD, *map(_line, found)] if found else []:
            self.stdout.write(line)


def _line(one: Progress) -> str:
    return (
        f"{one.post_id:<20} {one.author:20.20} {one.mode:6} {one.state:7}"
        f" {f'{one.chunks_done}/{one.chunks}':>11} {one.delivered:>10}"
        f" {one.age_ms / 1000:>8.1f}s {one.rate:>9.0f} {one.held:>5} {one.expired:>7}"
    )
