"""The staff queue in the admin: reports by people, one row for each reported object."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import queries as accounts_queries
from accounts.admin.acts import ActsAdmin
from accounts.admin.staff_acts import GroundsForm, SuspensionForm, WarningForm
from accounts.models import User
from accounts.request_auth.requests import staff_of
from feeds import queries as feeds_queries
from feeds.admin import NoteForm as ContentNoteForm
from interactions import actions
from interactions.admin.case_page import history, notes_of, reported, time_text
from interactions.admin.filters import AssigneeFilter, OpenFilter
from interactions.models import (
    Case,
    CaseNote,
    CommentContent,
    Outcome,
    Report,
    ReportedKind,
)
from socialsite.core.errors import InvalidInput
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import Right

Act = Callable[[User, int, str], bool]
# With the arguments of its form besides.
ActOnGrounds = Callable[..., bool]
REPORTS = 200
WORDS = 300
PAGES = {
    ReportedKind.POST: "admin:feeds_post_change",
    ReportedKind.COMMENT: "admin:interactions_comment_change",
    ReportedKind.USER: "admin:accounts_user_change",
}


class NoteForm(forms.Form):
    """A note about a case; the action checks its text."""

    words = forms.CharField(
        label=gettext_lazy("Note for other staff"),
        required=False,
        # Browsers count UTF-16 units, at most two a character.
        widget=forms.Textarea({"rows": 3, "cols": 60, "maxlength": 2 * CaseNote.WORDS_MAX}),
    )


@admin.register(Case)
class CaseAdmin(ActsAdmin):
    """Cases; staff dismiss, delete or ban through the corresponding actions."""

    list_display = (
        *("__str__", "owner", "open_count", "open_reasons", "last", "outcome", "assignee"),
    )
    list_filter = (OpenFilter, AssigneeFilter, "kind")
    list_select_related = ("owner", "assignee")
    search_fields = ("=subject_id", "=owner__username_key")
    search_help_text = gettext_lazy(
        "the id of a post, a comment or a person, or the username of its owner"
    )
    ordering = ("-open_count", "-reported_at")
    actions = (
        *("take", "take_over", "give_back", "dismiss", "delete_reported"),
        *("note", "warn", "limit", "suspend", "ban"),
    )
    shown_to = Right.CASES
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
        "assignee",
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
            may_content = staff_of(request).may(Right.CONTENT)
            extra_context = {
                "reported": reported(case),
                "history": history(case, staff_of(request)),
                "reports": reports.order_by("-pk")[:REPORTS],
                "others": others.filter(open_count__gt=0).aggregate(count=Count("pk"))["count"],
                "may_delete": may_content and case.kind != ReportedKind.USER,
                "may_note": may_content and case.kind == ReportedKind.POST,
                "may_act": staff_of(request).may(Right.PEOPLE),
                "notes": notes_of(case),
                "note_form": NoteForm(auto_id="id_note_%s"),
                "is_mine": case.assignee_id == request.user.pk,
            } | (extra_context or {})
        return super().change_view(request, object_id, form_url, extra_context)

    # --- notes and assignment --------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Add the page of the form for a note."""
        view = self.admin_site.admin_view(self.note_view)
        return [
            path("<int:case_id>/note/", view, name="interactions_case_note"),
            *super().get_urls(),
        ]

    def note_view(self, request: HttpRequest, case_id: int) -> HttpResponse:
        """Write a note about a case; mistakes show beside the text on a page of the form alone."""
        case = self.get_object(request, str(case_id))
        if case is None:
            raise Http404
        form = NoteForm(request.POST if request.method == "POST" else None, auto_id="id_note_%s")
        if form.is_valid():
            try:
                actions.note_case(staff_of(request), case.pk, form.cleaned_data["words"])
                page = reverse("admin:interactions_case_change", args=[case.pk])
                return HttpResponseRedirect(f"{page}#notes")
            except InvalidInput as error:
                for name, texts in (error.fields or {}).items():
                    form.add_error(name, [str(text) for text in texts])
        context = {
            **self.admin_site.each_context(request),
            "title": _("Note about %(case)s") % {"case": case},
            "opts": self.opts,
            "case": case,
            "form": form,
        }
        status = 422 if form.errors else 200
        return TemplateResponse(request, "admin/interactions/note.html", context, status=status)

    @admin.action(
        description=gettext_lazy("Take the selected cases that nobody has"), permissions=["cases"]
    )
    def take(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse:
        """Assign cases to oneself."""
        staff = staff_of(request)
        return self.run(request, queryset, lambda case: actions.take_case(staff, case.pk))

    @admin.action(
        description=gettext_lazy("Take over the selected cases, those of others too"),
        permissions=["cases"],
    )
    def take_over(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse:
        """Assign cases to oneself, whoever has them."""
        staff = staff_of(request)
        return self.run(
            request, queryset, lambda case: actions.take_case(staff, case.pk, over=True)
        )

    @admin.action(
        description=gettext_lazy("Give back the selected cases that you have"),
        permissions=["cases"],
    )
    def give_back(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse:
        """Assign one's own cases to nobody."""
        staff = staff_of(request)
        return self.run(request, queryset, lambda case: actions.give_back_case(staff, case.pk))

    # --- decisions -------------------------------------------------------------------------------
    @admin.action(
        description=gettext_lazy("Dismiss the reports of the selected cases"), permissions=["cases"]
    )
    def dismiss(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Close the reports without further action."""
        question = _("Dismiss these reports? The reported objects stay as they are.")
        return self._act(request, queryset, actions.dismiss_reports, question)

    @admin.action(
        description=gettext_lazy("Delete the posts and comments of the selected cases"),
        permissions=["content"],
    )
    def delete_reported(
        self, request: HttpRequest, queryset: "QuerySet[Case]"
    ) -> HttpResponse | None:
        """Delete posts and comments."""
        question = _(
            "Delete these posts and comments? Their authors read the reason; without one, the most"
            " frequent one of the reports."
        )
        cases = queryset.exclude(kind=ReportedKind.USER)
        return self._act_on_grounds(request, cases, actions.delete_reported, question)

    @admin.action(
        description=gettext_lazy("Put a content note on the posts of the selected cases"),
        permissions=["content"],
    )
    def note(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Put a note on posts."""
        question = _("Put a content note on these posts? Readers see it first; pictures blur.")
        posts = queryset.filter(kind=ReportedKind.POST)
        return self._act_on_grounds(
            request, posts, actions.note_reported, question, ContentNoteForm
        )

    @admin.action(
        description=gettext_lazy("Warn the people of the selected cases"),
        permissions=["people"],
    )
    def warn(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Warn the author, or the reported person."""
        question = _("Warn these people? They read your words, and nothing else changes.")
        return self._act_on_people(
            request, queryset, actions.warn_reported, Outcome.WARNED, question, WarningForm
        )

    @admin.action(
        description=gettext_lazy("Limit the people of the selected cases"),
        permissions=["people"],
    )
    def limit(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Limit the author, or the reported person."""
        question = _(
            "Limit these people? Neither they nor their posts are recommended or found by a search."
        )
        return self._act_on_people(
            request, queryset, actions.limit_reported, Outcome.LIMITED, question
        )

    @admin.action(
        description=gettext_lazy("Suspend the people of the selected cases"),
        permissions=["people"],
    )
    def suspend(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Suspend the author, or the reported person."""
        question = _(
            "Suspend these people? They are signed out everywhere, and cannot log in for some time."
        )
        return self._act_on_people(
            request, queryset, actions.suspend_reported, Outcome.SUSPENDED, question, SuspensionForm
        )

    @admin.action(
        description=gettext_lazy("Ban the people of the selected cases"),
        permissions=["people"],
    )
    def ban(self, request: HttpRequest, queryset: "QuerySet[Case]") -> HttpResponse | None:
        """Ban the author, or the reported person."""
        question = _(
            "Ban these people? They are signed out everywhere, and nobody sees their posts."
        )
        return self._act_on_grounds(request, queryset, actions.ban_reported, question)

    def _act_on_people(
        self,
        request: HttpRequest,
        cases: "QuerySet[Case]",
        act: ActOnGrounds,
        outcome: Outcome,
        question: str,
        kind: type[GroundsForm] = GroundsForm,
    ) -> HttpResponse | None:
        """Act once on each person; their other selected cases are closed with it."""
        done: set[int] = set()

        def once(actor: User, case_id: int, address: str, **more: Any) -> bool:
            owner_id = Case.objects.values_list("owner_id", flat=True).get(pk=case_id)
            if owner_id in done:
                actions.close_case(case_id, outcome, actor)
                return True
            changed = act(actor, case_id, address, **more)
            done.add(owner_id)
            return changed

        return self._act_on_grounds(request, cases, once, question, kind)

    def _act_on_grounds(
        self,
        request: HttpRequest,
        cases: "QuerySet[Case]",
        act: ActOnGrounds,
        question: str,
        kind: type[GroundsForm] = GroundsForm,
    ) -> HttpResponse | None:
        form = self.form_of(request, kind)
        return self._act(
            request,
            cases,
            lambda actor, case_id, address: act(actor, case_id, address, **form.arguments),
            question,
            form,
        )

    def described(self, rows: Sequence[Case]) -> list[str]:
        """Return the objects of cases with their owners and the beginning of their words."""
        words = words_of(rows)
        return [f"{case}, {case.owner}: {words[case.pk]}" for case in rows]

    def _act(
        self,
        request: HttpRequest,
        cases: "QuerySet[Case]",
        act: Act,
        question: str,
        form: forms.Form | None = None,
    ) -> HttpResponse | None:
        actor, address = staff_of(request), address_of(request)
        return self.act(
            request,
            cases.select_related("owner"),
            lambda case: act(actor, case.pk, address),
            question,
            form,
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
