"""Admin of the audit trail."""

from django.contrib import admin
from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from accounts import actions, queries
from accounts.admin import descriptions
from accounts.admin.address_column import AddressAdmin
from accounts.models import AuditEntry, User
from socialsite.core.ids import number_of
from socialsite.core.text.spans import without_at


class ActFilter(admin.SimpleListFilter):
    """Filter by kind of act. The kinds come from the code, not from a query."""

    title = gettext_lazy("act")
    parameter_name = "act"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[AuditEntry]"
    ) -> list[tuple[str, str]]:
        """Return the acts with their names."""
        return [(act.value, str(act.label)) for act in actions.Act]

    def queryset(
        self, request: HttpRequest, queryset: "QuerySet[AuditEntry]"
    ) -> "QuerySet[AuditEntry]":
        """Filter by the chosen act."""
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditEntry)
class AuditEntryAdmin(AddressAdmin):
    """Admin of the audit trail, newest entries first."""

    list_display = ("created_at", "performed_by", "address", "act", "affected", "more")
    list_display_links = None
    list_filter = (ActFilter,)
    list_select_related = ("actor",)
    search_fields = ("actor",)  # shows the search field; `get_search_results` does the search
    search_help_text = gettext_lazy("a username or an id: acts by this person and on this person")
    ordering = ("-id",)
    fields = ("created_at", "performed_by", "address", "act", "affected", "more")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[AuditEntry]":
        """Fetch the names of the affected people, too."""
        name = User.objects.filter(pk=OuterRef("subject_id")).values("username")
        of_people = When(subject_type="user", then=Subquery(name[:1]))
        found = Case(of_people, default=Value(""), output_field=CharField())
        return super().get_queryset(request).annotate(subject_name=found)

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[AuditEntry]", search_term: str
    ) -> "tuple[QuerySet[AuditEntry], bool]":
        """Find the acts by a person, and the acts on the person or thing with this id."""
        for word in search_term.split():
            user = queries.any_by_name(without_at(word))
            if user is not None:
                about = Q(subject_type="user", subject_id=user.pk)
                queryset = queryset.filter(Q(actor=user) | about)
            elif (ident := number_of(word)) is not None:
                queryset = queryset.filter(Q(actor=ident) | Q(subject_id=ident))
            else:
                return queryset.none(), False
        return queryset, False

    @admin.display(description=gettext_lazy("who"))
    def performed_by(self, entry: AuditEntry) -> SafeString | str:
        """Link to the actor."""
        return descriptions.actor_link(entry)

    @admin.display(description=gettext_lazy("what"))
    def act(self, entry: AuditEntry) -> str:
        """Return the name of the act."""
        return descriptions.act_name(entry)

    @admin.display(description=gettext_lazy("to whom"))
    def affected(self, entry: AuditEntry) -> SafeString | str:
        """Link to the person or the thing."""
        return descriptions.subject_link(entry, entry.subject_name)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("more"))
    def more(self, entry: AuditEntry) -> str:
        """Return the detail as text."""
        return descriptions.detail_text(entry)
