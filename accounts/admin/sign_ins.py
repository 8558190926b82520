"""Admin of sign-ins: the token numbers of each client, and those of all clients together."""

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from accounts.admin.address_column import AddressAdmin
from accounts.devices import Client
from accounts.models import TokenBatch, TokenVersion
from socialsite.core.admin import ReadOnlyAdmin


class KindFilter(admin.SimpleListFilter):
    """Filter by kind of device; with CLIENT_POLICY=device there are as many clients as devices."""

    title = gettext_lazy("kind of device")
    parameter_name = "kind"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[TokenVersion]"
    ) -> list[tuple[str, str]]:
        """Return the kinds with their names."""
        return [(kind.value, str(kind.label)) for kind in Client]

    def queryset(
        self, request: HttpRequest, queryset: "QuerySet[TokenVersion]"
    ) -> "QuerySet[TokenVersion]":
        """Filter by the chosen kind, with and without a device id."""
        kind = self.value()
        if kind not in Client.values:
            return queryset
        return queryset.filter(Q(client=kind) | Q(client__startswith=f"{kind}:"))


@admin.register(TokenVersion)
class TokenVersionAdmin(AddressAdmin):
    """Admin of sign-ins: the token numbers of each client of a person."""

    list_display = ("user", "client", "version", "access_floor", "refresh_floor", "last_seen")
    list_filter = (KindFilter,)
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-id",)
    # Omits the ids of live tokens.
    fields = (
        "user",
        "client",
        "version",
        "access_floor",
        "refresh_floor",
        "user_agent",
        "address",
        "last_seen",
        "ended",
        "ended_by",
    )


@admin.register(TokenBatch)
class TokenBatchAdmin(ReadOnlyAdmin):
    """Admin of token batches: the numbers that all clients of a person share."""

    list_display = ("user", "batch", "access_floor", "refresh_floor", "ended")
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-user_id",)
