"""`manage.py rebuild_inboxes`: rebuild inboxes from posts and relations, while the site runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from accounts.models import User
from feeds.audit.explain import find_id, find_reader
from feeds.delivery.inbox import rebuild


class Command(BaseCommand):
    """May be stopped and run again at any time; feeds stay exact meanwhile."""

    help = "Rebuild the inbox of a person, or of everybody, from posts and relations."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options that select people."""
        choice = parser.add_mutually_exclusive_group(required=True)
        choice.add_argument("--user", help="a username or an id")
        choice.add_argument("--all", action="store_true", help="everybody, by id ascending")
        parser.add_argument("--after", default="0", help="with --all: only ids above this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild, with a progress bar on a terminal, and print a summary."""
        after = find_id(options["after"])
        if after is None:
            raise CommandError(f"{options['after']} is not an id.")
        if options["all"]:
            self._report(self._everybody(after))
            return
        viewer = find_reader(options["user"])
        if viewer is None:
            raise CommandError(f"There is no user named {options['user']}.")
        self._report(rebuild.rebuild([viewer.pk]))

    def _everybody(self, after: int) -> rebuild.Report:
        reached = after
        total = User.objects.filter(pk__gt=after).count()
        with tqdm(total=total, unit=" people", disable=None, leave=False) as bar:

            def done(viewer_id: int) -> None:
                nonlocal reached
                reached = viewer_id
                bar.update()

            try:
                return rebuild.rebuild(rebuild.everybody(after), done)
            except KeyboardInterrupt:
                raise CommandError(f"stopped; continue with --after {reached}") from None
            except Exception:
                self.stderr.write(f"failed; continue with --after {reached}")
                raise

    def _report(self, done: rebuild.Report) -> None:
        self.stdout.write(
            f"inboxes {done.viewers}, follows synced {done.synced},"
            f" wrong rows removed {done.removed}"
        )
