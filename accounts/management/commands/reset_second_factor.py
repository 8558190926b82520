"""`manage.py reset_second_factor USERNAME`: for an admin who lost device and recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.credentials import passkeys, two_factor


class Command(BaseCommand):
    """Remove the second factor and the passkeys of a person."""

    help = (
        "Remove a person's second factor and passkeys; afterwards log-in needs only the password."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the username."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove it, or fail if there is no such person or no second factor."""
        user = queries.any_by_name(options["username"])
        if user is None:
            raise CommandError(f"There is no user named {options['username']}.")
        if not (two_factor.is_on(user) or passkeys.number_of(user)):
            raise CommandError(f"{user} has neither a second factor nor a passkey.")
        actions.reset_two_factor(user)
        self.stdout.write(f"{user} now logs in with the password only.")
