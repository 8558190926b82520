"""App configuration of interactions."""

import importlib

from django.apps import AppConfig


class InteractionsConfig(AppConfig):
    """Registers what interactions listens to."""

    name = "interactions"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("interactions.subscribers")
