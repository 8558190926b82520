"""Admin of acts on people and of appeals; the forms of the grounds that people read."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import actions
from accounts.actions.moderation import SUSPEND_DAYS_MAX
from accounts.admin.acts import ActsAdmin
from accounts.models import Appeal, Reason, StaffAct
from accounts.request_auth.requests import staff_of
from socialsite.core.admin import FilterWithDefault
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import Right
from socialsite.core.text import clean

Kind = StaffAct.Kind
# The admin's pages of what staff delete.
PAGES = {
    Kind.NOTE: "admin:feeds_post_change",
    Kind.DELETE_POST: "admin:feeds_post_change",
    Kind.DELETE_COMMENT: "admin:interactions_comment_change",
}


class GroundsForm(forms.Form):
    """Why staff act, as the person reads it."""

    reason = forms.ChoiceField(
        choices=[("", gettext_lazy("no reason given")), *Reason.choices],
        required=False,
        label=gettext_lazy("reason"),
    )
    words = forms.CharField(
        max_length=StaffAct.WORDS_MAX,
        required=False,
        label=gettext_lazy("words to the person"),
        widget=forms.Textarea({"rows": 4, "cols": 60}),
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """What was entered, as the keyword arguments of an act."""
        values = dict(self.cleaned_data)
        return values | {"grounds": actions.Grounds(values.pop("reason"), values.pop("words"))}


class WarningForm(GroundsForm):
    """A warning consists of its words."""

    def clean_words(self) -> str:
        """Return the words; a blank text is a mistake."""
        words = clean(self.cleaned_data["words"])
        if not words:
            raise forms.ValidationError(_("Please fill this in."))
        return words


class SuspensionForm(GroundsForm):
    """Grounds, and for how long."""

    days = forms.IntegerField(
        min_value=1, max_value=SUSPEND_DAYS_MAX, initial=7, label=gettext_lazy("days")
    )


class AnswerForm(forms.Form):
    """What staff answer to somebody."""

    text = forms.CharField(
        max_length=Appeal.ANSWER_MAX,
        required=False,
        label=gettext_lazy("What you tell them (may be empty)"),
        widget=forms.Textarea({"rows": 4, "cols": 60}),
    )


def about(act: StaffAct) -> SafeString | str:
    """Return a link to the post or comment that was deleted, or the text that was taken."""
    page = PAGES.get(Kind(act.kind))
    if page is not None and act.subject_id:
        address = reverse(page, args=[act.subject_id])
        return format_html('<a href="{}">{}</a>', address, act.get_kind_display())
    return act.taken if act.kind == Kind.TAKE_BIO and act.taken else "-"


@admin.register(StaffAct)
class StaffActAdmin(ActsAdmin):
    """Acts on people with their grounds; staff undo them."""

    list_display = ("id", "kind", "user", "actor", "reason", "until", "created_at", "undone_at")
    list_filter = ("kind", "reason")
    list_select_related = ("user", "actor")
    search_fields = ("=id", "=user__id", "=user__username_key", "=actor__username_key")
    search_help_text = gettext_lazy("an id, or the username of the person or of the staff member")
    ordering = ("-id",)
    fields = (
        *("id", "kind", "user", "actor", "subject", "reason", "words", "until", "created_at"),
        *("undone_at", "undone_by", "appeal_link"),
    )
    readonly_fields = ("appeal_link", "subject")
    actions = ("undo",)
    change_form_template = "admin/accounts/staff_act.html"

    def has_undo_permission(self, request: HttpRequest) -> bool:
        """Return True with a right whose acts can be undone; the act itself needs its own."""
        return bool(staff_of(request).rights & (Right.PEOPLE | Right.CONTENT))

    @admin.display(description=gettext_lazy("about"))
    def subject(self, act: StaffAct) -> SafeString | str:
        """Return what was deleted or taken."""
        return about(act)

    @admin.display(description=gettext_lazy("appeal"))
    def appeal_link(self, act: StaffAct) -> SafeString | str:
        """Return a link to the appeal."""
        appeal = Appeal.objects.filter(pk=act.pk).first()
        if appeal is None:
            return "-"
        address = reverse("admin:accounts_appeal_change", args=[appeal.pk])
        return format_html('<a href="{}">{}</a>', address, appeal.get_state_display())

    def described(self, rows: Any) -> list[str]:
        """Return what was done to whom."""
        return [f"{act.get_kind_display()}: {act.user} ({act.user.nickname})" for act in rows]

    @admin.action(description=gettext_lazy("Undo the selected acts"), permissions=["undo"])
    def undo(self, request: HttpRequest, queryset: "QuerySet[StaffAct]") -> HttpResponse | None:
        """Undo the acts."""
        actor, address = staff_of(request), address_of(request)
        return self.act(
            request,
            queryset.filter(undone_at=None).select_related("user"),
            lambda act: actions.undo(act.pk, actor, address),
            _("Undo these acts? The people are told."),
        )


class AppealFilter(FilterWithDefault):
    """Shows open appeals by default."""

    default = gettext_lazy("not decided yet")
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Appeal]"
    ) -> list[tuple[str, str]]:
        """Return the other states."""
        return [("decided", _("decided")), ("all", _("all"))]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Appeal]") -> "QuerySet[Appeal]":
        """Filter by the selected state."""
        match self.value():
            case "decided":
                return queryset.exclude(state=Appeal.State.OPEN)
            case "all":
                return queryset
        return queryset.filter(state=Appeal.State.OPEN)


@admin.register(Appeal)
class AppealAdmin(ActsAdmin):
    """Appeals, the oldest open one first; somebody else than who acted decides."""

    list_display = ("act", "kind", "acted", "text", "created_at", "state")
    list_filter = (AppealFilter,)
    list_select_related = ("act__user", "act__actor")
    search_fields = ("=act__user__id", "=act__user__username_key")
    search_help_text = gettext_lazy("the id or the username of the person")
    ordering = ("created_at", "pk")
    fields = (
        *("act_link", "kind", "subject", "reason", "words", "acted", "text", "created_at"),
        *("state", "decided_by", "decided_at", "answer"),
    )
    readonly_fields = ("act_link", "kind", "subject", "reason", "words", "acted")
    actions = ("grant", "refuse")
    shown_to = Right.APPEALS
    change_form_template = "admin/accounts/appeal.html"

    @admin.display(description=gettext_lazy("act on a person"))
    def act_link(self, appeal: Appeal) -> SafeString:
        """Return a link to the act."""
        address = reverse("admin:accounts_staffact_change", args=[appeal.pk])
        return format_html('<a href="{}">{}</a>', address, appeal.act.user)

    @admin.display(description=gettext_lazy("kind"))
    def kind(self, appeal: Appeal) -> str:
        """Return what was done."""
        return appeal.act.get_kind_display()

    @admin.display(description=gettext_lazy("about"))
    def subject(self, appeal: Appeal) -> SafeString | str:
        """Return what was deleted or taken."""
        return about(appeal.act)

    @admin.display(description=gettext_lazy("reason"))
    def reason(self, appeal: Appeal) -> str:
        """Return the reason of the act."""
        return appeal.act.get_reason_display() or "-"

    @admin.display(description=gettext_lazy("words to the person"))
    def words(self, appeal: Appeal) -> str:
        """Return what staff wrote."""
        return appeal.act.words or "-"

    @admin.display(description=gettext_lazy("staff member"))
    def acted(self, appeal: Appeal) -> str:
        """Return who acted."""
        return str(appeal.act.actor or _("a command on the server"))

    def described(self, rows: Any) -> list[str]:
        """Return against what who objects, and why."""
        return [
            f"{row.act.get_kind_display()}: {row.act.user} ({row.act.user.nickname}): {row.text}"
            for row in rows
        ]

    @admin.action(
        description=gettext_lazy("Grant the selected appeals: undo the acts"),
        permissions=["appeals"],
    )
    def grant(self, request: HttpRequest, queryset: "QuerySet[Appeal]") -> HttpResponse | None:
        """Grant the appeals."""
        question = _("Grant these appeals? The acts are undone.")
        return self._decide(request, queryset, actions.grant_appeal, question)

    @admin.action(description=gettext_lazy("Refuse the selected appeals"), permissions=["appeals"])
    def refuse(self, request: HttpRequest, queryset: "QuerySet[Appeal]") -> HttpResponse | None:
        """Refuse the appeals."""
        question = _("Refuse these appeals? The acts stand, and the people read your answer.")
        return self._decide(request, queryset, actions.refuse_appeal, question)

    def _decide(
        self, request: HttpRequest, appeals: "QuerySet[Appeal]", decide: Any, question: str
    ) -> HttpResponse | None:
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, AnswerForm)
        return self.act(
            request,
            appeals.filter(state=Appeal.State.OPEN).select_related("act__user"),
            lambda row: decide(row.pk, form.cleaned_data["text"], actor, address),
            question,
            form,
        )
