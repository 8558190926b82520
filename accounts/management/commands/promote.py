"""`manage.py promote USERNAME --role admin`: sets a role; this creates the first admin."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.models import Role, StaffRole
from socialsite.core.errors import UserNotFound


class Command(BaseCommand):
    """Set the role of a person."""

    help = "Set the role of a person; `member` removes the staff roles."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the username and the role."""
        parser.add_argument("username")
        text = "member, moderator, admin, or the name of a role that the site made"
        parser.add_argument("--role", default=Role.ADMIN.label, help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the role, or fail if there is no such role or person."""
        name = options["role"].lower()
        bits = {role.label: int(role) for role in Role}
        bits |= dict(StaffRole.objects.values_list("name_key", "bit"))
        if name not in bits:
            raise CommandError(f"There is no role {options['role']}: {', '.join(bits)}.")
        try:
            user = queries.by_name(options["username"])
        except UserNotFound:
            raise CommandError(f"There is no user named {options['username']}.") from None
        actions.promote(user, Role.MEMBER | bits[name])
        self.stdout.write(f"{user} is {name} now.")
