"""App configurations: of accounts, and of Django's admin with our site in place of its own."""

import importlib

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class AccountsConfig(AppConfig):
    """Registers what accounts listens to."""

    name = "accounts"

    def ready(self) -> None:
        """Import the subscribers, which register themselves."""
        importlib.import_module("accounts.subscribers")


class SiteAdminConfig(admin_apps.AdminConfig):
    """Django's admin; named in INSTALLED_APPS, as it is not the configuration of this app."""

    default = False
    default_site = "accounts.admin_site.SiteAdmin"
