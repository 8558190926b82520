"""App configuration of the core."""

import importlib

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class CoreConfig(AppConfig):
    """App with the label `core`, so that its tables and tasks are named `core_…` and `core.…`."""

    name = "socialsite.core"
    label = "core"
    verbose_name = gettext_lazy("Core")

    def ready(self) -> None:
        """Import the erasers, which register themselves."""
        importlib.import_module("socialsite.core.erasing.own")
