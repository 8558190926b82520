"""`manage.py end_sign_ins`: the step after the database was restored from a back-up."""

from typing import Any

from django.core.management.base import BaseCommand

from accounts import actions


class Command(BaseCommand):
    """End every sign-in."""

    help = (
        "End every sign-in of every person, also those that the restored database does not know."
        " Run it after a restoration and before the site starts; empty Redis too."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """End them."""
        self.stdout.write(f"{actions.end_all_sign_ins()} people are signed out everywhere.")
