"""`manage.py createsuperuser`: replaces Django's, which does not know this site's rules."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import actions, queries
from accounts.management.ask import new_password, readable_errors
from accounts.models import Role, User


class Command(BaseCommand):
    """Create an admin."""

    help = "Create an admin account; the password is typed on a terminal or read from stdin."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the names; the command asks for a missing username."""
        length = f"{User.NAME_MIN} to {User.NAME_MAX}"
        parser.add_argument("--username", help=f"{length} letters and digits")
        parser.add_argument("--nickname", help="shown on posts; without it the username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Register the person as the site does, then promote them."""
        username = options["username"] or input("Username: ").strip()
        nickname = options["nickname"] or username
        if queries.any_by_name(username):
            raise CommandError(f"{username} exists already; see `promote` and `changepassword`")
        with readable_errors():
            user = actions.register(username, nickname, new_password(f"@{username}"))
        actions.promote(user, Role.MEMBER | Role.ADMIN)
        self.stdout.write(f"{user} is an admin now.")
