"""App configuration of interactions."""

import importlib

from django.apps import AppConfig


class InteractionsConfig(AppConfig):
    """Registers the event handlers of interactions."""

    name = "interactions"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("interactions.subscribers")
