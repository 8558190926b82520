"""`manage.py metrics_token`: print the token that a scraper of `/metrics` must send."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Prints METRICS_TOKEN, or the generated token if it is not set."""

    help = "Print the Bearer token of /metrics"
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Print it."""
        self.stdout.write(settings.METRICS_TOKEN)
