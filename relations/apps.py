"""App configuration of relations."""

import importlib

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class RelationsConfig(AppConfig):
    """Registers the subscribers and erasers of relations."""

    name = "relations"
    verbose_name = gettext_lazy("Relations")

    def ready(self) -> None:
        """Import the modules that register themselves."""
        importlib.import_module("relations.subscribers")
        importlib.import_module("relations.erasing")
