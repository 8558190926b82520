"""`manage.py promote USERNAME --role admin`: give someone a role; the first admin is made so."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.models import Role
from socialsite.core.errors import UserNotFound


class Command(BaseCommand):
    """Set the role of a person."""

    help = "Give a person a role; `member` takes the others away."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who and what."""
        parser.add_argument("username")
        parser.add_argument("--role", choices=Role.labels, default=Role.ADMIN.label)

    def handle(self, *args: Any, **options: Any) -> None:
        """Promote."""
        role = next(role for role in Role if role.label == options["role"])
        try:
            user = queries.by_name(options["username"])
        except UserNotFound:
            raise CommandError(f"There is nobody named {options['username']}.") from None
        actions.promote(user, Role.MEMBER | role)
        self.stdout.write(f"{user} is {role.label} now.")
