"""`manage.py check_settings NAME …`: whether a site can work with its settings."""

import difflib
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http.request import split_domain_port, validate_host

from socialsite.core.rate_limits import budgets
from socialsite.env import Env

# Of Python, of the system, of libraries.
FOREIGN = ("OTEL_", "PYTHON", "LC_", "SSL_")
OTHERS = frozenset({"LANG", "TZ", "PATH", "NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY"})


class Command(BaseCommand):
    """Fails if a check of Django fails or no request would be accepted; names unknown settings.

    A misspelt setting would silently have its default.
    """

    help = "Check ALLOWED_HOSTS, and say which of these names are no settings."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the names of a file of settings."""
        parser.add_argument("names", nargs="*")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare the host of SITE_URL, and the names with those that the site reads."""
        host = urlsplit(settings.SITE_URL).netloc.rpartition("@")[2]
        if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
            raise CommandError(
                f"ALLOWED_HOSTS: {host} of SITE_URL is missing: no request is accepted"
            )
        if settings.MEDIA_ROOT != settings.DATA_DIR / "media":
            raise CommandError(
                "MEDIA_URL: an installed site has its uploads in DATA_DIR/media or a bucket; mount"
                f" {settings.MEDIA_ROOT} there"
            )
        known = {*Env.model_fields, *(row.variable for row in budgets.TABLE.values())}
        for name in options["names"]:
            if name in known | OTHERS or name.startswith(FOREIGN):
                continue
            similar = difflib.get_close_matches(name.upper(), known, 1)
            hint = f"; did you mean {similar[0]}?" if similar else ""
            self.stdout.write(f"{name} is no setting of the site, and changes nothing{hint}")
