"""The address column of the admin: whole for admins, its network for moderators."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts import addresses
from accounts.models import AuditEntry, SignUpRequest, TokenVersion
from socialsite.core.admin import ReadOnlyAdmin


class AddressAdmin(ReadOnlyAdmin):
    """Admin of a table with IP addresses: admins see them whole, moderators see the network.

    The network is not a field of the model, so moderators cannot sort by the hidden address.
    """

    # What moderators see instead of a field.
    shortened: ClassVar[Mapping[str, str]] = {"address": "network"}

    def get_list_display(self, request: HttpRequest) -> Any:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_list_display(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_fields(request, obj))

    def _columns(self, request: HttpRequest, names: Any) -> list[str]:
        if request.user.is_superuser:
            return list(names)
        return [self.shortened.get(name, name) for name in names]

    @admin.display(description=gettext_lazy("network"))
    def network(self, row: AuditEntry | TokenVersion | SignUpRequest) -> str:
        """Return the network around the address."""
        return addresses.masked(row.address)
