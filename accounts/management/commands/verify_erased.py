"""`manage.py verify_erased USER_ID`: looks for what is left of an erased person."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.erasing import verifying
from socialsite.core.runtime.control import caller


class Command(BaseCommand):
    """Look into every table, Redis, the files of media, and logs."""

    help = "Look for what is left of an erased person; ends with 1 if there is something."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the person and the logs."""
        parser.add_argument("user_id", type=int)
        parser.add_argument("--name", default="", help="the username that the person had")
        parser.add_argument("--email", default="", help="the address that the person had")
        parser.add_argument(
            "--logs", nargs="*", type=caller.path, default=[], help="files or folders"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print each place; fail if one of them is not allowed."""
        person = verifying.Person(options["user_id"], options["name"], options["email"])
        left = 0
        for found in verifying.verify(person, options["logs"]):
            left += not found.reason
            stays = f"stays: {found.reason}" if found.reason else "LEFT"
            self.stdout.write(f"{found.place}: {found.number} ({stays})")
        if left:
            raise CommandError(f"Something is left in {left} places.")
        self.stdout.write("Nothing is left.")
