"""Admin of the sign-ups that wait, and of invitations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import actions
from accounts.admin.acts import ActsAdmin
from accounts.admin.address_column import AddressAdmin
from accounts.admin.staff_acts import AnswerForm
from accounts.models import Invite, InvitedPerson, SignUpRequest
from accounts.request_auth.requests import staff_of
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import Right

State = SignUpRequest.State


class StateFilter(admin.SimpleListFilter):
    """By default, those that staff are to decide on."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[SignUpRequest]"
    ) -> list[tuple[str, str]]:
        """Return the other states with their names."""
        shown = [(state.value, str(state.label)) for state in State if state != State.WAITING]
        return [*shown, ("all", _("All"))]

    def choices(self, changelist: Any) -> Any:
        """Name the default."""
        default, *others = super().choices(changelist)
        return [{**default, "display": State.WAITING.label}, *others]

    def queryset(
        self, request: HttpRequest, queryset: "QuerySet[SignUpRequest]"
    ) -> "QuerySet[SignUpRequest]":
        """Filter by the chosen state."""
        chosen = self.value()
        if chosen == "all":
            return queryset
        state = chosen if chosen in State.values else State.WAITING
        return queryset.filter(state=state)


@admin.register(SignUpRequest)
class SignUpRequestAdmin(ActsAdmin, AddressAdmin):
    """The sign-ups that wait, oldest first, without the right to addresses with domains only."""

    shown_to = Right.SIGN_UPS
    shortened: ClassVar[Mapping[str, str]] = {"address": "network", "email": "domain"}

    list_display = ("username", "nickname", "email", "reason", "created_at")
    list_filter = (StateFilter,)
    search_fields = ("=id", "username__startswith", "nickname__startswith")
    ordering = ("created_at", "id")
    fields = (
        "id",
        "state",
        "username",
        "nickname",
        "email",
        "is_confirmed",
        "reason",
        "answer",
        "language",
        "invite",
        "created_at",
        "address",
    )
    actions = ("accept", "refuse")
    change_form_template = "admin/accounts/sign_up.html"

    @admin.display(description=gettext_lazy("domain of the e-mail address"))
    def domain(self, row: SignUpRequest) -> str:
        """Return what others see of the address."""
        return row.email.rpartition("@")[2]

    @admin.action(
        description=gettext_lazy("Accept the selected sign-ups"), permissions=["sign_ups"]
    )
    def accept(
        self, request: HttpRequest, queryset: "QuerySet[SignUpRequest]"
    ) -> HttpResponse | None:
        """Open the accounts."""
        actor, address = staff_of(request), address_of(request)
        return self.act(
            request,
            queryset.filter(state=State.WAITING),
            lambda row: actions.approve(row.pk, actor, address),
            _("Accept these people? Their accounts open, and they receive a mail."),
        )

    @admin.action(
        description=gettext_lazy("Refuse the selected sign-ups"), permissions=["sign_ups"]
    )
    def refuse(
        self, request: HttpRequest, queryset: "QuerySet[SignUpRequest]"
    ) -> HttpResponse | None:
        """Refuse the sign-ups."""
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, AnswerForm)
        return self.act(
            request,
            queryset.filter(state=State.WAITING),
            lambda row: actions.refuse(row.pk, form.cleaned_data["text"], actor, address),
            _("Refuse these people? They receive a mail with your words."),
            form,
        )


@admin.register(Invite)
class InviteAdmin(ActsAdmin):
    """Invitations: who made them, and who came by them. Nobody sees the codes of others."""

    shown_to = Right.SIGN_UPS

    list_display = ("id", "maker", "used", "uses", "created_at", "ends_at")
    list_select_related = ("maker",)
    search_fields = ("=id", "=maker__id", "=maker__username_key")
    ordering = ("-id",)
    fields = ("id", "maker", "uses", "used", "created_at", "ends_at", "people")
    actions = ("end",)

    @admin.display(description=gettext_lazy("who came"))
    def people(self, row: Invite) -> str:
        """Return the names of those who came by it."""
        rows = InvitedPerson.objects.filter(invite=row).select_related("user")
        return ", ".join(str(one.user) for one in rows.order_by("user_id"))

    @admin.action(
        description=gettext_lazy("End the selected invitations"), permissions=["sign_ups"]
    )
    def end(self, request: HttpRequest, queryset: "QuerySet[Invite]") -> HttpResponse | None:
        """End the invitations."""
        actor, address = staff_of(request), address_of(request)
        return self.act(
            request,
            queryset.filter(ends_at__gt=timezone.now()).select_related("maker"),
            lambda row: actions.end_invite(row.pk, actor, address),
            _("End these invitations? Who came by them stays."),
        )
