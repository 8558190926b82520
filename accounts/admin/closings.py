"""Admin of closed accounts: when each is erased, and how far that is."""

from django.contrib import admin

from accounts.models import Closing
from socialsite.core.admin import ReadOnlyAdmin, id_column
from socialsite.core.rights import Right


@admin.register(Closing)
class ClosingAdmin(ReadOnlyAdmin):
    """Closed accounts by their ids: an erased one has no name."""

    of_user = id_column("user_id", Closing._meta.get_field("user").verbose_name)
    list_display = ("of_user", "closed_at", "erase_at", "erasing_at", "erased_at")
    search_fields = ("=user__id",)
    ordering = ("-closed_at",)
    fields = ("of_user", "closed_at", "erase_at", "erasing_at", "erased_at")
    readonly_fields = ("of_user",)
    shown_to = Right.OPERATION
