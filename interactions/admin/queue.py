"""The staff queue in the admin: reports by people, one row for each reported object."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import queries as accounts_queries
from accounts.admin.acts import ActsAdmin
from accounts.models import User
from accounts.request_auth.requests import staff_of
from feeds import queries as feeds_queries
from interactions import actions
from interactions.admin.case_page import history, reported, time_text
from interactions.models import Case, CommentContent, Report, ReportedKind
from socialsite.core.http.ip_addresses import address_of

Act = Callable[[User, int, str], bool]
REPORTS = 200
WORDS = 300
PAGES = {
    ReportedKind.POST: "admin:feeds_post_change",
    ReportedKind.COMMENT: "admin:interactions_comment_change",
    ReportedKind.USER: "admin:accounts_user_change",
}


class OpenFilter(admin.SimpleListFilter):
    """Shows open cases by default."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Case]"
    ) -> list[tuple[str, str]]:
        """Return the other states."""
        return [("closed", _("closed cases")), ("all", _("all cases"))]

    def choices(self, changelist: Any) -> Any:
        """Return the choices, with a name for the default."""
        first, *others = super().choices(changelist)
        yield {**first, "display": _("open cases")}
        yield from others

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Case]") -> "QuerySet[Case]":
        """Filter by the selected state."""
        match self.value():
            case "closed":
                return queryset.filter(open_count=0)
            case "all":
                return queryset
        return queryset.filter(open_count__gt=0)


@admin.register(Case)
class CaseAdmin(ActsAdmin):
    """Cases; staff dismiss, delete or ban through the corresponding actions."""

    list_display = ("__str__", "owner", "open_count", "open_reasons", "last", "outcome")
    list_filter = (OpenFilter, "kind")
    list_select_related = ("owner",)
    search_fields = ("=subject_id", "=owner__username_key")
    search_help_text = gettext_lazy(
        "the id of a post, a comment or a person, or the username of its owner"
    )
    ordering = ("-open_count", "-reported_at")
    actions = ("dismiss", "delete_reported", "ban")
    change_form_template = "admin/interactions/case.html"
    fields = (
        "subject",
        "owner",
        "open_count",
        "open_reasons",
        "last",
        "outcome",
        "closed",
        "closed_by",
    )
    readonly_fields = ("subject", "open_reasons", "last", "closed")

    @admin.display(description=gettext_lazy("reasons"))
    def open_reasons(self, case: Case) -> str:
        """Return the reasons of the open reports, the most frequent first."""
        counted = sorted(case.reasons.items(), key=lambda pair: -pair[1])
        return ", ".join(f"{reason} {count}" for reason, count in counted) or "-"

    @admin.display(description=gettext_lazy("last report"), ordering="reported_at")
    def last(self, case: Case) -> str:
        """Return the time of the last report."""
        return time_text(case.reported_at)

    @admin.display(description=gettext_lazy("closed at"))
    def closed(self, case: Case) -> str:
        """Return the time of closing."""
        return "-" if case.closed_at is None else time_text(case.closed_at)

    @admin.display(description=gettext_lazy("object"))
    def subject(self, case: Case) -> SafeString:
        """Return a link to the reported object."""
        address = reverse(PAGES[ReportedKind(case.kind)], args=[case.subject_id])
        return format_html('<a href="{}">{}</a>', address, case)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show a case with the reported object, its reports, and the possible actions."""
        case = self.get_object(request, object_id)
        if case is not None:
            reports = Report.objects.filter(case=case).select_related("reporter")
            others = Case.objects.filter(owner=case.owner_id).exclude(pk=case.pk)
            extra_context = {
                "reported": reported(case),
                "history": history(case, staff_of(request)),
                "reports": reports.order_by("-pk")[:REPORTS],
                "others": others.filter(open_count__gt=0).aggregate(count=Count("pk"))["count"],
                "may_delete": case.kind != ReportedKind.USER,
            } | (extra_context or {})
        return super().change_view(request, object_id, form_url, extra_context)

    # --- actions
    # ------------------------------------------------------------------------------------
    @admin.action(
        description=gettext_lazy("Dismiss the reports of the selected cases"), permissions=["view"]
    )
    def dismiss(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Close the reports without further action."""
        question = _("Dismiss these reports? The reported objects stay as they are.")
        return self._act(request, queryset, actions.dismiss_reports, question)

    @admin.action(
        description=gettext_lazy("Delete the posts and comments of the selected cases"),
        permissions=["view"],
    )
    def delete_reported(
        self, request: HttpRequest, queryset: "QuerySet[Case]"
    ) -> HttpResponse | None:
        """Delete posts and comments."""
        question = _("Delete these posts and comments? Their authors see the reason.")
        cases = queryset.exclude(kind=ReportedKind.USER)
        return self._act(request, cases, actions.delete_reported, question)

    @admin.action(
        description=gettext_lazy("Ban the people of the selected cases"), permissions=["view"]
    )
    def ban(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Ban the author, or the reported person."""
        question = _(
            "Ban these people? They are signed out everywhere, and nobody sees their posts."
        )
        return self._act(request, queryset, actions.ban_reported, question)

    def described(self, rows: Sequence[Case]) -> list[str]:
        """Return the objects of cases with their owners and the beginning of their words."""
        words = words_of(rows)
        return [f"{case}, {case.owner}: {words[case.pk]}" for case in rows]

    def _act(
        self, request: HttpRequest, cases: "QuerySet[Case]", act: Act, question: str
    ) -> HttpResponse | None:
        actor, address = staff_of(request), address_of(request)
        return self.act(
            request,
            cases.select_related("owner"),
            lambda case: act(actor, case.pk, address),
            question,
        )


def words_of(cases: Sequence[Case]) -> dict[int, str]:
    """Return case → the beginning of the reported text, whoever may see it."""
    subjects: dict[int, list[int]] = {kind: [] for kind in ReportedKind}
    for case in cases:
        subjects[case.kind].append(case.subject_id)
    rows = CommentContent.objects.filter(pk__in=subjects[ReportedKind.COMMENT])
    people = accounts_queries.cards(subjects[ReportedKind.USER], closed=True)
    posts = feeds_queries.texts(subjects[ReportedKind.POST])
    found: dict[int, dict[int, str]] = {
        ReportedKind.POST: {
            ident: f"{post.note} {post.title} {post.content} {post.options}"
            for ident, post in posts.items()
        },
        ReportedKind.COMMENT: dict(rows.values_list("pk", "content")),
        ReportedKind.USER: {
            ident: f"{card['nickname']} {card['bio']}" for ident, card in people.items()
        },
    }
    return {case.pk: found[case.kind].get(case.subject_id, "").strip()[:WORDS] for case in cases}
