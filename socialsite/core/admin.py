"""Admin of the core: the event outbox with its dead letters, and the base of read-only admins."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import ngettext

from socialsite.core import relay
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event

SEARCH_MAX = 100  # characters; the longest words that are searched for are ids and names


class GuardedAdmin(admin.ModelAdmin):
    """Takes from the address only what the pages themselves put there.

    Django filters a list by any column that an address names, also by columns that no page shows,
    such as the hash of a password, and raises at values that the column cannot hold.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """True for what the filters of the list ask for; everything else is answered with 400."""
        name, _, how = lookup.partition("__")
        filters = self.get_list_filter(request)
        fields = {entry for entry in filters if isinstance(entry, str)}
        own = {getattr(entry, "parameter_name", None) for entry in filters}
        return lookup in own or (name in fields and how in ("", "exact", "isnull"))

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Return the row of an id; None for what cannot be one. Other keys are not asked for."""
        return super().get_object(request, object_id) if _is_id(object_id) else None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Drop what cannot be an id from the chosen rows: Django would hand it to the database.

        A search is cut for the same reason: each of its words becomes a condition, or a query.
        """
        if len(request.GET.get(SEARCH_VAR, "")) > SEARCH_MAX:
            asked = request.GET.copy()
            asked[SEARCH_VAR] = asked[SEARCH_VAR][:SEARCH_MAX]
            request.GET = asked  # type: ignore[assignment]
        if request.method == "POST" and helpers.ACTION_CHECKBOX_NAME in request.POST:
            data = request.POST.copy()
            chosen = data.pop(helpers.ACTION_CHECKBOX_NAME)
            if ids := [text for text in chosen if _is_id(text)]:
                data.setlist(helpers.ACTION_CHECKBOX_NAME, ids)
            request.POST = data  # type: ignore[assignment]
        return super().changelist_view(request, extra_context)


class ReadOnlyAdmin(GuardedAdmin):
    """No adding, changing or deleting by hand; big tables are never counted.

    What staff may do is an admin action that calls the domain's own action.
    """

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_administer_permission(self, request: HttpRequest) -> bool:
        """Admins, for actions with `permissions=["administer"]`."""
        return bool(request.user.is_superuser)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_ID


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """Facts not told to everybody yet; the dead ones wait here for a person."""

    list_display = ("id", "type", "aggregate_id", "created_at", "attempts", "applied", "dead")
    list_filter = ("dead", "type")
    search_fields = ("=aggregate_id",)
    ordering = ("-dead", "id")
    actions = ("retry",)

    @admin.action(description="Retry the selected dead events", permissions=["administer"])
    def retry(self, request: HttpRequest, queryset: "QuerySet[Event]") -> None:
        """Make dead events due again."""
        count = relay.revive(queryset)
        text = ngettext("%(count)d event is due again.", "%(count)d events are due again.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)
