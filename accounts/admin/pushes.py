"""Admin of push subscriptions: which devices receive pushes, without what could send to them."""

from django.contrib import admin
from django.utils.translation import gettext_lazy

from accounts.models import PushSubscription
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.client import web_push


@admin.register(PushSubscription)
class PushSubscriptionAdmin(ReadOnlyAdmin):
    """Admin of push subscriptions. The endpoint and the keys are secrets and are not shown."""

    list_display = ("user", "client", "push_service", "created_at", "failures")
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-id",)
    fields = (
        "user",
        "client",
        "version",
        "batch",
        "push_service",
        "language",
        "created_at",
        "failures",
    )

    @admin.display(description=gettext_lazy("push service"))
    def push_service(self, row: PushSubscription) -> str:
        """Return the host of the endpoint."""
        return web_push.host_of(row.endpoint)
