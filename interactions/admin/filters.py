"""Filters of the list of cases."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from interactions.models import Case
from socialsite.core.admin import FilterWithDefault


class OpenFilter(FilterWithDefault):
    """Shows open cases by default."""

    default = gettext_lazy("open cases")
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Case]"
    ) -> list[tuple[str, str]]:
        """Return the other states."""
        return [("closed", _("closed cases")), ("all", _("all cases"))]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Case]") -> "QuerySet[Case]":
        """Filter by the selected state."""
        match self.value():
            case "closed":
                return queryset.filter(open_count=0)
            case "all":
                return queryset
        return queryset.filter(open_count__gt=0)


class AssigneeFilter(admin.SimpleListFilter):
    """Shows the cases of the reader, or those of nobody."""

    title = gettext_lazy("assigned to")
    parameter_name = "assignee"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Case]"
    ) -> list[tuple[str, str]]:
        """Return the choices besides all cases."""
        return [("mine", _("me")), ("nobody", _("nobody"))]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Case]") -> "QuerySet[Case]":
        """Filter by the assigned person."""
        match self.value():
            case "mine":
                return queryset.filter(assignee=request.user.pk)
            case "nobody":
                return queryset.filter(assignee__isnull=True)
        return queryset
