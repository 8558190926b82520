"""App configuration of feeds."""

import importlib

from django.apps import AppConfig


class FeedsConfig(AppConfig):
    """Registers the event handlers of feeds."""

    name = "feeds"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("feeds.subscribers")
