"""`manage.py changepassword USERNAME`: replaces Django's, which would leave sign-ins alive."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.management.ask import new_password, readable_errors


class Command(BaseCommand):
    """Set the password of a person."""

    help = "Set a person's password, typed on a terminal or read from stdin; ends all sign-ins."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the username."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the password, or fail if there is no such person."""
        user = queries.any_by_name(options["username"])
        if user is None or user.deleted_at:
            raise CommandError(f"There is no user named {options['username']}.")
        with readable_errors():
            actions.set_password(user, new_password(str(user)))
        self.stdout.write(f"{user} has a new password and is signed out everywhere.")
