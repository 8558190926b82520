"""Admin of accounts: people, sign-ins, audit trail. Every change goes through an action.

Acts on people need a confirmation on a page of its own. They run one by one, each in its own
transaction, and the action refuses those that the actor may not do.
"""

import importlib
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.auth.admin import Group  # importing that module registers it
from django.core.exceptions import PermissionDenied
from django.db.models import Case, CharField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import actions as accounts
from accounts import queries
from accounts.models import AuditEntry, Role, TokenBatch, TokenVersion, User
from accounts.sign_in import two_factor
from accounts.sign_in.devices import Client, address_of
from accounts.staff import addresses, descriptions
from socialsite.core.admin import ReadOnlyAdmin
from socialsite.core.http.errors import Forbidden
from socialsite.core.ids import MAX_ID

admin.site.unregister(Group)  # rights follow from the role, not from groups
# django-otp registers its own pages on import; they show secrets and edit devices by hand.
for module in ("otp_totp", "otp_static"):
    importlib.import_module(f"django_otp.plugins.{module}.admin")
admin.site.unregister((TOTPDevice, StaticDevice))

Act = Callable[[User, User, str], Any]
SHOWN = 100  # names on a confirmation page


class StateFilter(admin.SimpleListFilter):
    """Open, banned and closed accounts."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[User]"
    ) -> list[tuple[str, str]]:
        """Return the states with their names."""
        return [("open", _("open")), ("banned", _("banned")), ("closed", _("closed"))]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[User]") -> "QuerySet[User]":
        """Filter by the chosen state."""
        match self.value():
            case "open":
                return queryset.filter(banned_at__isnull=True, deleted_at__isnull=True)
            case "banned":
                return queryset.filter(banned_at__isnull=False)
            case "closed":
                return queryset.filter(deleted_at__isnull=False)
        return queryset


class RolesForm(forms.Form):
    """Form for a person's roles; everybody is a member."""

    moderator = forms.BooleanField(
        required=False,
        label=gettext_lazy("Moderator"),
        help_text=gettext_lazy("sees the admin, bans members, deletes posts and comments"),
    )
    admin = forms.BooleanField(
        required=False,
        label=gettext_lazy("Admin"),
        help_text=gettext_lazy("does that to staff too, and gives roles"),
    )

    @property
    def roles(self) -> int:
        """The chosen roles as bits."""
        data = self.cleaned_data
        given = Role.MODERATOR * data["moderator"] | Role.ADMIN * data["admin"]
        return int(Role.MEMBER | given)


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """Admin of people. Nobody sees the password hash, only admins see the e-mail address."""

    list_display = ("id", "username", "nickname", "role_names", "created_at", "banned_at")
    list_filter = (StateFilter,)
    search_fields = ("=id", "username_key__startswith", "nickname_key__startswith")
    search_help_text = gettext_lazy("an id, or the beginning of a username or name")
    ordering = ("-id",)
    fields = (
        "id",
        "username",
        "nickname",
        "email",
        "avatar_name",
        "bio",
        "role_names",
        "second_factor",
        "created_at",
        "last_seen",
        "banned_at",
        "deleted_at",
    )
    actions = ("ban", "unban", "force_offline", "reset_second_factor")
    change_form_template = "admin/accounts/person.html"

    @admin.display(description=gettext_lazy("roles"))
    def role_names(self, user: User) -> str:
        """Return the names of the roles."""
        return ", ".join(role.label for role in Role if user.roles & role)

    @admin.display(description=gettext_lazy("second factor"), boolean=True)
    def second_factor(self, user: User) -> bool:
        """Return whether log-in asks for a code."""
        return two_factor.is_on(user)

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        """Hide the address from moderators: it serves recovery only."""
        return [name for name in self.fields if name != "email" or request.user.is_superuser]

    # --- acts -----------------------------------------------------------------------------------
    @admin.action(description=gettext_lazy("Ban the selected people"), permissions=["view"])
    def ban(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Ban the people and end all of their sign-ins."""
        question = _("Ban these people? All of their sign-ins end, and nobody sees their posts.")
        people = queryset.filter(banned_at__isnull=True)
        return self._act(request, people, accounts.ban, question)

    @admin.action(
        description=gettext_lazy("Lift the ban of the selected people"), permissions=["view"]
    )
    def unban(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Lift the ban of the people."""
        question = _("Lift the ban of these people? They can log in again.")
        people = queryset.filter(banned_at__isnull=False)
        return self._act(request, people, accounts.unban, question)

    @admin.action(
        description=gettext_lazy("Force the selected people offline"), permissions=["view"]
    )
    def force_offline(
        self, request: HttpRequest, queryset: "QuerySet[User]"
    ) -> HttpResponse | None:
        """End all of the people's sign-ins."""
        question = _("End all sign-ins of these people? They can log in again at once.")
        return self._act(request, queryset, accounts.force_offline, question)

    @admin.action(
        description=gettext_lazy("Reset the second factor of the selected people"),
        permissions=["administer"],
    )
    def reset_second_factor(
        self, request: HttpRequest, queryset: "QuerySet[User]"
    ) -> HttpResponse | None:
        """Let the people log in by password alone."""
        question = _(
            "Take the second factor of these people away? Be sure who asked for it:"
            " afterwards their password alone lets in."
        )
        return self._act(request, queryset, accounts.reset_second_factor, question)

    def _act(
        self, request: HttpRequest, people: "QuerySet[User]", act: Act, question: str
    ) -> HttpResponse | None:
        """Ask for confirmation; once confirmed, act on each person and report the results."""
        if "confirmed" not in request.POST:
            return self._ask(request, people, question)
        done = refused = 0
        for user in people:
            try:
                act(user, request.user, address_of(request))
                done += 1
            except Forbidden:
                refused += 1
        if done:
            text = ngettext("Done for %(count)d person.", "Done for %(count)d people.", done)
            self.message_user(request, text % {"count": done}, messages.SUCCESS)
        if refused:
            text = ngettext(
                "You may not do this to %(count)d person.",
                "You may not do this to %(count)d people.",
                refused,
            )
            self.message_user(request, text % {"count": refused}, messages.WARNING)
        if not done and not refused:
            self.message_user(request, _("There was nothing to do."), messages.INFO)
        back = _back(request)
        return HttpResponseRedirect(self._person(back)) if back else None

    def _ask(
        self, request: HttpRequest, people: "QuerySet[User]", question: str
    ) -> TemplateResponse:
        chosen = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME)
        names = list(people.order_by("-id")[: SHOWN + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": _("Are you sure?"),
            "opts": self.opts,
            "question": question,
            "people": names[:SHOWN],
            "more": people.count() - SHOWN if len(names) > SHOWN else 0,
            "checkbox": helpers.ACTION_CHECKBOX_NAME,
            "chosen": chosen,
            "action": request.POST.get("action", ""),
            "select_across": request.POST.get("select_across", "0"),
            "back": _back(request),
        }
        return TemplateResponse(request, "admin/accounts/confirm.html", context)

    # --- the page of a person -------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Add the page of the roles."""
        view = self.admin_site.admin_view(self.roles_view)
        return [path("<int:user_id>/roles/", view, name="accounts_user_roles"), *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show a person with devices, audit trail and the available acts."""
        user = self.get_object(request, object_id)
        if user is not None:
            yourself = user.pk == request.user.pk
            may_act = not yourself and (request.user.is_superuser or not user.is_staff)
            extra_context = {
                "may_act": may_act,
                "may_administer": request.user.is_superuser and not yourself,
                "has_second_factor": two_factor.is_on(user),
                "devices": descriptions.devices_of(user, request.user),
                "acts": descriptions.acts_about(user, request.user),
            } | (extra_context or {})
        return super().change_view(request, object_id, form_url, extra_context)

    def roles_view(self, request: HttpRequest, user_id: int) -> HttpResponse:
        """Change a person's roles; admins only, and not their own."""
        if not request.user.is_superuser:
            raise PermissionDenied
        user = User.objects.filter(pk=user_id).first()
        if user is None:
            raise Http404
        initial = {role.label: bool(user.roles & role) for role in Role}
        form = RolesForm(request.POST if request.method == "POST" else None, initial=initial)
        if form.is_valid():
            try:
                accounts.promote(user, form.roles, request.user, address_of(request))
                self.message_user(request, _("The roles are changed."), messages.SUCCESS)
            except Forbidden as error:
                self.message_user(request, str(error.detail), messages.WARNING)
            return HttpResponseRedirect(self._person(user.pk))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Roles of %(name)s") % {"name": user},
            "opts": self.opts,
            "person": user,
            "form": form,
        }
        return TemplateResponse(request, "admin/accounts/roles.html", context)

    @staticmethod
    def _person(user_id: int | str) -> str:
        return reverse("admin:accounts_user_change", args=[user_id])


def _back(request: HttpRequest) -> str:
    """Return the id of the person whose page started the act; empty for the list."""
    back = request.POST.get("back", "")
    return back if back.isascii() and back.isdigit() else ""


class ActFilter(admin.SimpleListFilter):
    """Filter by kind of act. The kinds come from the code, not from a query."""

    title = gettext_lazy("act")
    parameter_name = "act"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[AuditEntry]"
    ) -> list[tuple[str, str]]:
        """Return the acts with their names."""
        return [(act.value, str(act.label)) for act in accounts.Act]

    def queryset(
        self, request: HttpRequest, queryset: "QuerySet[AuditEntry]"
    ) -> "QuerySet[AuditEntry]":
        """Filter by the chosen act."""
        return queryset.filter(action=self.value()) if self.value() else queryset


class AddressAdmin(ReadOnlyAdmin):
    """Admin of a table with IP addresses: admins see them whole, moderators see the network.

    The network is not a field of the model, so moderators cannot sort by the hidden address.
    """

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_list_display(request))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Replace the address by its network for moderators."""
        return self._columns(request, super().get_fields(request, obj))

    @staticmethod
    def _columns(request: HttpRequest, names: Any) -> list[str]:
        whole = request.user.is_superuser
        return [name if whole or name != "address" else "network" for name in names]

    @admin.display(description=gettext_lazy("network"))
    def network(self, row: AuditEntry | TokenVersion) -> str:
        """Return the network around the address."""
        return addresses.masked(row.address)


@admin.register(AuditEntry)
class AuditEntryAdmin(AddressAdmin):
    """Admin of the audit trail, newest entries first."""

    list_display = ("created_at", "who", "address", "what", "whom", "more")
    list_display_links = None
    list_filter = (ActFilter,)
    list_select_related = ("actor",)
    search_fields = ("actor",)  # shows the search field; `get_search_results` does the search
    search_help_text = gettext_lazy("a username or an id: what they did, and what was done to them")
    ordering = ("-id",)
    fields = ("created_at", "who", "address", "what", "whom", "more")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[AuditEntry]":
        """Fetch the names of the people whom the acts concern, too."""
        name = User.objects.filter(pk=OuterRef("subject_id")).values("username")
        of_people = When(subject_type="user", then=Subquery(name[:1]))
        found = Case(of_people, default=Value(""), output_field=CharField())
        return super().get_queryset(request).annotate(subject_name=found)

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[AuditEntry]", search_term: str
    ) -> "tuple[QuerySet[AuditEntry], bool]":
        """Find the acts by a person, and the acts on the person or thing with this id."""
        for word in search_term.split():
            user = queries.any_by_name(word.removeprefix("@"))
            if user is not None:
                about = Q(subject_type="user", subject_id=user.pk)
                queryset = queryset.filter(Q(actor=user) | about)
            elif word.isascii() and word.isdigit() and int(word) <= MAX_ID:
                queryset = queryset.filter(Q(actor=int(word)) | Q(subject_id=int(word)))
            else:
                return queryset.none(), False
        return queryset, False

    @admin.display(description=gettext_lazy("who"))
    def who(self, entry: AuditEntry) -> SafeString | str:
        """Link to the actor."""
        return descriptions.actor_link(entry)

    @admin.display(description=gettext_lazy("what"))
    def what(self, entry: AuditEntry) -> str:
        """Return the name of the act."""
        return descriptions.act_name(entry)

    @admin.display(description=gettext_lazy("to whom"))
    def whom(self, entry: AuditEntry) -> SafeString | str:
        """Link to the person or the thing."""
        return descriptions.subject_link(entry, entry.subject_name)  # type: ignore[attr-defined]

    @admin.display(description=gettext_lazy("more"))
    def more(self, entry: AuditEntry) -> str:
        """Return the detail as text."""
        return descriptions.detail_text(entry)


class KindFilter(admin.SimpleListFilter):
    """Filter by kind of device; with CLIENT_POLICY=device there are as many clients as devices."""

    title = gettext_lazy("kind of device")
    parameter_name = "kind"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[TokenVersion]"
    ) -> list[tuple[str, str]]:
        """Return the kinds with their names."""
        return [(kind.value, str(kind.label)) for kind in Client]

    def queryset(
        self, request: HttpRequest, queryset: "QuerySet[TokenVersion]"
    ) -> "QuerySet[TokenVersion]":
        """Filter by the chosen kind, with and without a device id."""
        kind = self.value()
        if kind not in Client.values:
            return queryset
        return queryset.filter(Q(client=kind) | Q(client__startswith=f"{kind}:"))


@admin.register(TokenVersion)
class TokenVersionAdmin(AddressAdmin):
    """Admin of sign-ins: the token numbers of each client of a person."""

    list_display = ("user", "client", "version", "access_floor", "refresh_floor", "last_seen")
    list_filter = (KindFilter,)
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-id",)
    # Omits the ids of live tokens.
    fields = (
        "user",
        "client",
        "version",
        "access_floor",
        "refresh_floor",
        "user_agent",
        "address",
        "last_seen",
        "ended",
        "ended_by",
    )


@admin.register(TokenBatch)
class TokenBatchAdmin(ReadOnlyAdmin):
    """Admin of token batches: the numbers that all clients of a person share."""

    list_display = ("user", "batch", "access_floor", "refresh_floor", "ended")
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-user_id",)
