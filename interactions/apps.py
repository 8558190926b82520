"""App configuration of interactions."""

import importlib

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class InteractionsConfig(AppConfig):
    """Registers the event handlers and erasers of interactions."""

    name = "interactions"
    verbose_name = gettext_lazy("Interactions")

    def ready(self) -> None:
        """Import the modules that register themselves."""
        importlib.import_module("interactions.subscribers")
        importlib.import_module("interactions.erasing")
        importlib.import_module("interactions.notifying.digests")
