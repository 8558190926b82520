"""Admin of the core: the event outbox, videos, archives and imports; the base of all admins."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy, ngettext

from socialsite.core.events import relay
from socialsite.core.ids import number_of
from socialsite.core.media.videos import failures
from socialsite.core.models import Event, Export, Import, Video
from socialsite.core.rights import READING, Right
from socialsite.core.times import iso

SEARCH_MAX = 100  # characters; the longest useful search terms are ids and names


def _may(right: Right) -> Callable[..., bool]:
    """Return a method: whether the sender of a request has a right."""

    def has_permission(_admin: Any, request: HttpRequest) -> bool:
        return bool(request.user.may(right))  # type: ignore[union-attr]

    return has_permission


class GuardedAdmin(admin.ModelAdmin):
    """Base admin that accepts only those parameters that the admin pages themselves create.

    Django filters a list by any column that an address names, even one that no page shows, such as
    a password hash. It also raises an error for values that the column cannot hold.

    A page is shown to whoever has one of the rights `shown_to`. An act names the right that it
    needs besides: `permissions=["people"]`.
    """

    shown_to: ClassVar[int] = READING

    has_cases_permission = _may(Right.CASES)
    has_content_permission = _may(Right.CONTENT)
    has_people_permission = _may(Right.PEOPLE)
    has_appeals_permission = _may(Right.APPEALS)
    has_sign_ups_permission = _may(Right.SIGN_UPS)
    has_tags_permission = _may(Right.TAGS)
    has_site_permission = _may(Right.SITE)
    has_operation_permission = _may(Right.OPERATION)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return True for one of the rights `shown_to`."""
        return bool(request.user.rights & self.shown_to)  # type: ignore[union-attr]

    def has_administer_permission(self, request: HttpRequest) -> bool:
        """Return True for admins; used by actions with `permissions=["administer"]`."""
        return bool(request.user.is_superuser)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the filters that the list offers; the admin answers all others with 400."""
        name, _, how = lookup.partition("__")
        filters = self.get_list_filter(request)
        fields = {entry for entry in filters if isinstance(entry, str)}
        own = {getattr(entry, "parameter_name", None) for entry in filters}
        return lookup in own or (name in fields and how in ("", "exact", "isnull"))

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Return the row with this id; None, without a query, for a text that cannot be an id."""
        return super().get_object(request, object_id) if _is_id(object_id) else None

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Drop selected rows whose id is invalid: Django would pass it to the database.

        The search text is cut for the same reason: each of its words becomes a condition or a
        query.
        """
        if len(request.GET.get(SEARCH_VAR, "")) > SEARCH_MAX:
            asked = request.GET.copy()
            asked[SEARCH_VAR] = request.GET[SEARCH_VAR][:SEARCH_MAX]
            request.GET = asked  # type: ignore[assignment]
        if request.method == "POST" and helpers.ACTION_CHECKBOX_NAME in request.POST:
            data = request.POST.copy()
            chosen = data.pop(helpers.ACTION_CHECKBOX_NAME)
            if ids := [text for text in chosen if _is_id(text)]:
                data.setlist(helpers.ACTION_CHECKBOX_NAME, ids)
            request.POST = data  # type: ignore[assignment]
        return super().changelist_view(request, extra_context)


class FilterWithDefault(admin.SimpleListFilter):
    """Base of a filter whose first choice is not "All" but `default`, its name."""

    default: Any

    def choices(self, changelist: Any) -> Any:
        """Return the choices, with a name for the default."""
        first, *others = super().choices(changelist)
        yield {**first, "display": self.default}
        yield from others


class ReadOnlyAdmin(GuardedAdmin):
    """Base admin without add, change or delete; it never counts big tables.

    Staff change data through admin actions that call the domain's own actions.
    """

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False for everybody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for everybody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False for everybody."""
        return False


def id_column(name: str, label: Any) -> Callable[[Any, Model], int]:
    """Return a method of an admin: a column with the id in a foreign key, whose row is not read."""

    @admin.display(description=label, ordering=name)
    def shown(_admin: Any, row: Model) -> int:
        return int(getattr(row, name))

    return shown


def _is_id(text: str) -> bool:
    return number_of(text) is not None


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """Undelivered events, with the dead letters that wait for an operator."""

    list_display = ("id", "type", "aggregate_id", "created_at", "attempts", "applied", "dead")
    list_filter = ("dead", "type")
    search_fields = ("=aggregate_id",)
    ordering = ("-dead", "id")
    actions = ("retry",)

    @admin.action(
        description=gettext_lazy("Retry the selected dead events"), permissions=["operation"]
    )
    def retry(self, request: HttpRequest, queryset: "QuerySet[Event]") -> None:
        """Make dead events due again."""
        count = relay.revive(queryset)
        text = ngettext("%(count)d event is due again.", "%(count)d events are due again.", count)
        self.message_user(request, text % {"count": count}, messages.SUCCESS)


@admin.register(Video)
class VideoAdmin(ReadOnlyAdmin):
    """Uploaded videos and their preparation; they are deleted with their posts."""

    of_media = id_column("media_id", gettext_lazy("media id"))
    list_display = (
        *("of_media", "owner", "state", "progress", "tries", "reason"),
        *("source_size", "size", "length", "uploaded", "finished"),
    )
    fields = readonly_fields = list_display
    list_filter = ("state", "failure")
    list_select_related = ("media",)
    search_fields = ("=media__id", "=media__owner_id")
    ordering = ("-media_id",)

    @admin.display(description=gettext_lazy("owner"))
    def owner(self, row: Video) -> str:
        """Return the id of the person who uploaded it."""
        return str(row.media.owner_id)

    @admin.display(description=gettext_lazy("size"))
    def size(self, row: Video) -> int:
        """Return the bytes of its files."""
        return row.media.size

    @admin.display(description=gettext_lazy("length"))
    def length(self, row: Video) -> str:
        """Return how long it is."""
        return f"{row.seconds:.1f} s"

    @admin.display(description=gettext_lazy("reason"))
    def reason(self, row: Video) -> str:
        """Return why it failed, in words."""
        return failures.in_words(row.failure)

    @admin.display(description=gettext_lazy("uploaded"))
    def uploaded(self, row: Video) -> str:
        """Return the time of the upload in UTC."""
        return iso(row.uploaded_at)

    @admin.display(description=gettext_lazy("finished"))
    def finished(self, row: Video) -> str:
        """Return the time when it was ready or failed, "" before."""
        return "" if row.finished_at is None else iso(row.finished_at)


class _JobAdmin(ReadOnlyAdmin):
    """Jobs that people started with their own data: how far each is, and nothing of the data."""

    of_owner = id_column("owner_id", gettext_lazy("owner"))
    list_filter: ClassVar[Any] = ("state",)
    search_fields = ("=id", "=owner_id")
    ordering = ("-id",)
    shown_to = Right.OPERATION

    @admin.display(description=gettext_lazy("created at"))
    def created(self, row: Any) -> str:
        """Return the time of the request in UTC."""
        return iso(row.created_at)

    @admin.display(description=gettext_lazy("finished"))
    def finished(self, row: Any) -> str:
        """Return the time when it was ready or failed, "" before."""
        return "" if row.finished_at is None else iso(row.finished_at)


@admin.register(Export)
class ExportAdmin(_JobAdmin):
    """Archives that people asked for; nobody reads them here."""

    list_display = ("id", "of_owner", "state", "progress", "tries", "size", "created", "finished")
    fields = readonly_fields = list_display


@admin.register(Import)
class ImportAdmin(_JobAdmin):
    """Files that people import: how many rows are done."""

    list_display = (
        *("id", "of_owner", "kind", "state", "progress", "tries"),
        *("position", "made", "failed", "created", "finished"),
    )
    fields = readonly_fields = list_display
    list_filter = ("kind", "state")
