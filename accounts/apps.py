"""App configuration of accounts."""

import importlib

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registers what accounts listens to."""

    name = "accounts"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("accounts.subscribers")
