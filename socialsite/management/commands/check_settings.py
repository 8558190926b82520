"""`manage.py check_settings NAME …`: which of these names are no settings of the site."""

import difflib
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from socialsite.core.rate_limits import budgets
from socialsite.env import Env

# Of Python, of the system, of libraries.
FOREIGN = ("OTEL_", "PYTHON", "LC_", "SSL_")
OTHERS = frozenset({"LANG", "TZ", "PATH", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"})


class Command(BaseCommand):
    """Prints a line for each unknown name: a misspelt setting would silently have its default."""

    help = "Say which names are no settings, with the most similar one that is."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the names of a file of settings."""
        parser.add_argument("names", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare the names with those that the site reads."""
        known = {*Env.model_fields, *(row.variable for row in budgets.TABLE.values())}
        for name in options["names"]:
            if name in known | OTHERS or name.startswith(FOREIGN):
                continue
            similar = difflib.get_close_matches(name.upper(), known, 1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            self.stdout.write(f"{name} is no setting of the site, and changes nothing{hint}")
