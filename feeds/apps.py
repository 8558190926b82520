"""App configuration of feeds."""

import importlib

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class FeedsConfig(AppConfig):
    """Registers the event handlers and erasers of feeds."""

    name = "feeds"
    verbose_name = gettext_lazy("Feeds")

    def ready(self) -> None:
        """Import the modules that register themselves."""
        importlib.import_module("feeds.subscribers")
        importlib.import_module("feeds.erasing")
