"""App configuration of relations."""

import importlib

from django.apps import AppConfig


class RelationsConfig(AppConfig):
    """Registers the subscribers of relations."""

    name = "relations"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("relations.subscribers")
