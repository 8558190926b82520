"""The staff queue in the admin: reports by people, one row for each reported object."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions import actions
from interactions.models import Case, CommentContent, Report, ReportedKind
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.errors import Forbidden
from socialsite.core.http.ip_addresses import address_of

Act = Callable[[Any, int, str], bool]
SHOWN, REPORTS = 100, 200
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
class CaseAdmin(ReadOnlyAdmin):
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
        return _time(case.reported_at)

    @admin.display(description=gettext_lazy("closed at"))
    def closed(self, case: Case) -> str:
        """Return the time of closing."""
        return "-" if case.closed_at is None else _time(case.closed_at)

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
        """Show a case with its text, its reports, and the possible actions."""
        case = self.get_object(request, object_id)
        if case is not None:
            reports = Report.objects.filter(case=case).select_related("reporter")
            others = Case.objects.filter(owner=case.owner_id).exclude(pk=case.pk)
            extra_context = {
                "words": words_of(case),
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

    def _act(
        self, request: HttpRequest, cases: "QuerySet[Case]", act: Act, question: str
    ) -> HttpResponse | None:
        """Ask for confirmation, then act on each case; show how many succeeded and failed."""
        if "confirmed" not in request.POST:
            return self._confirm(request, cases, question)
        done = refused = 0
        for ident in list(cases.values_list("pk", flat=True)):
            try:
                done += act(request.user, ident, address_of(request))
            except Forbidden:
                refused += 1
        if done:
            self.message_user(request, _("Done for %(count)s.") % {"count": done}, messages.SUCCESS)
        if refused:
            self.message_user(
                request,
                _("You may not do this to %(count)s.") % {"count": refused},
                messages.WARNING,
            )
        if not done and not refused:
            self.message_user(request, _("There was nothing to do."), messages.INFO)
        return HttpResponseRedirect(reverse("admin:interactions_case_changelist"))

    def _confirm(
        self, request: HttpRequest, cases: "QuerySet[Case]", question: str
    ) -> TemplateResponse:
        found = list(cases.select_related("owner")[: SHOWN + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": _("Are you sure?"),
            "opts": self.opts,
            "question": question,
            "cases": [(case, words_of(case)) for case in found[:SHOWN]],
            "more": cases.count() - SHOWN if len(found) > SHOWN else 0,
            "checkbox": helpers.ACTION_CHECKBOX_NAME,
            "chosen": request.POST.getlist(helpers.ACTION_CHECKBOX_NAME),
            "action": request.POST.get("action", ""),
            "select_across": request.POST.get("select_across", "0"),
        }
        return TemplateResponse(request, "admin/interactions/confirm.html", context)


def words_of(case: Case) -> str:
    """Return the beginning of the reported text, whoever may see it."""
    if case.kind == ReportedKind.POST:
        post = feeds_queries.texts([case.subject_id]).get(case.subject_id)
        return (
            ""
            if post is None
            else f"{post.note} {post.title} {post.content} {post.options}".strip()[:WORDS]
        )
    if case.kind == ReportedKind.COMMENT:
        row = CommentContent.objects.filter(pk=case.subject_id).first()
        return "" if row is None else row.content[:WORDS]
    card = accounts_queries.cards([case.owner_id], closed=True).get(case.owner_id)
    return "" if card is None else f"{card['nickname']} {card['bio']}".strip()[:WORDS]


def _time(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
