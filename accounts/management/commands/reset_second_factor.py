"""`manage.py reset_second_factor USERNAME`: for an admin who lost the device and the codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries, second_factor


class Command(BaseCommand):
    """Take the second factor of a person away."""

    help = "Take the second factor of a person away; afterwards the password alone lets in."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Reset."""
        user = queries.any_by_name(options["username"])
        if user is None:
            raise CommandError(f"There is nobody named {options['username']}.")
        if not second_factor.is_on(user):
            raise CommandError(f"{user} has no second factor.")
        actions.reset_second_factor(user)
        self.stdout.write(f"{user} logs in by the password alone now.")
