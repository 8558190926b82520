"""The address column of the admin: whole for staff with the right to it, else its network."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts import addresses
from accounts.models import AuditEntry, SignUpRequest, TokenVersion
from accounts.request_auth.requests import staff_of
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.rights import Right


class AddressAdmin(ReadOnlyAdmin):
    """Admin of a table with IP addresses, whole with the right to see them, else their network.

    The network is not a field of the model, so nobody sorts by the hidden address.
    """

    # What others see instead of a field.
    shortened: ClassVar[Mapping[str, str]] = {"address": "network"}

    def get_list_display(self, request: HttpRequest) -> Any:
        """Replace the address by its network."""
        return self._columns(request, super().get_list_display(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Replace the address by its network."""
        return self._columns(request, super().get_fields(request, obj))

    def _columns(self, request: HttpRequest, names: Any) -> list[str]:
        if staff_of(request).may(Right.ADDRESSES):
            return list(names)
        return [self.shortened.get(name, name) for name in names]

    @admin.display(description=gettext_lazy("network"))
    def network(self, row: AuditEntry | TokenVersion | SignUpRequest) -> str:
        """Return the network around the address."""
        return addresses.masked(row.address)
