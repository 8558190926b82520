"""`manage.py make_key --kind ed25519`: prints a new key for JWT_KEYS or VAPID_PRIVATE_KEY."""

from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandParser

from socialsite.core.runtime import keys, vapid

VAPID = "vapid"


class Command(BaseCommand):
    """Print a new key in one line, in the format of its setting. Nothing is stored."""

    help = "Print a new key in one line, in the format of JWT_KEYS or VAPID_PRIVATE_KEY"
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the kind of key."""
        parser.add_argument(
            "--kind",
            choices=[*get_args(keys.Kind), VAPID],
            default="secret",
            help="secret (HS256), or a pair whose public half others may verify with:"
            " ed25519 (EdDSA) or rsa (RS256); vapid signs pushes",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the key."""
        kind = options["kind"]
        self.stdout.write(vapid.new() if kind == VAPID else keys.new(kind))
