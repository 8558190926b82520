"""The address column of the admin: whole for admins, its network for moderators."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts import addresses
from accounts.models import AuditEntry, TokenVersion
from socialsite.core.admin import ReadOnlyAdmin


class AddressAdmin(ReadOnlyAdmin):
    """Admin of a table with IP addresses: admins see them whole, moderators see the network.

    The network is not a field of the model, so moderators cannot sort by the hidden address.
    """

    def get_list_display(self, request: HttpRequest) -> Any:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_list_display(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_fields(request, obj))

    @staticmethod
    def _columns(request: HttpRequest, names: Any) -> list[str]:
        whole = request.user.is_superuser
        return [name if whole or name != "address" else "network" for name in names]

    @admin.display(description=gettext_lazy("network"))
    def network(self, row: AuditEntry | TokenVersion) -> str:
        """Return the network around the address."""
        return addresses.masked(row.address)
