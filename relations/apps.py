"""App configuration of relations."""

import importlib

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class RelationsConfig(AppConfig):
    """Registers the subscribers of relations."""

    name = "relations"
    verbose_name = gettext_lazy("Relations")

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("relations.subscribers")
