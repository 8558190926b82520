"""`manage.py promote USERNAME --role admin`: sets a role; this creates the first admin."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.models import Role
from socialsite.core.errors import UserNotFound


class Command(BaseCommand):
    """Set the role of a person."""

    help = "Set the role of a person; `member` removes the staff roles."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the username and the role."""
        parser.add_argument("username")
        parser.add_argument("--role", choices=Role.labels, default=Role.ADMIN.label)

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the role, or fail if there is no such person."""
        role = next(role for role in Role if role.label == options["role"])
        try:
            user = queries.by_name(options["username"])
        except UserNotFound:
            raise CommandError(f"There is no user named {options['username']}.") from None
        actions.promote(user, Role.MEMBER | role)
        self.stdout.write(f"{user} is {role.label} now.")
