"""App configurations of accounts, and of Django's admin with our own admin site."""

import importlib

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.utils.translation import gettext_lazy


class AccountsConfig(AppConfig):
    """Registers the subscribers of accounts, and its credentials in the schema of the API."""

    name = "accounts"
    verbose_name = gettext_lazy("Accounts")

    def ready(self) -> None:
        """Import the modules that register themselves."""
        importlib.import_module("accounts.subscribers")
        importlib.import_module("accounts.erasing.own")
        importlib.import_module("accounts.request_auth.schema")


class SiteAdminConfig(admin_apps.AdminConfig):
    """Configuration of Django's admin; INSTALLED_APPS names it, as it is not this app's own."""

    default = False
    default_site = "accounts.sign_in.admin_site.SiteAdmin"
