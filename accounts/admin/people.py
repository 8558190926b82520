"""Admin of people."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts import actions, closings, invites
from accounts.actions.moderation import PARTS
from accounts.admin import descriptions, roles
from accounts.admin.acts import ActsAdmin
from accounts.admin.staff_acts import GroundsForm, SuspensionForm, WarningForm
from accounts.credentials import passkeys, two_factor
from accounts.models import User
from accounts.naming import search as name_search
from accounts.request_auth.requests import staff_of
from socialsite.core.http.ip_addresses import address_of
from socialsite.core.rights import READING, Right

Act = Callable[[User, User, str], Any]


class StateFilter(admin.SimpleListFilter):
    """Open accounts, those that staff acted on, and closed ones."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[User]"
    ) -> list[tuple[str, str]]:
        """Return the states with their names."""
        return [
            ("open", _("open")),
            ("limited", _("limited")),
            ("suspended", _("suspended")),
            ("banned", _("banned")),
            ("closed", _("closed")),
        ]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[User]") -> "QuerySet[User]":
        """Filter by the chosen state."""
        match self.value():
            case "open":
                return queryset.filter(banned_at__isnull=True, deleted_at__isnull=True)
            case "limited":
                return queryset.filter(limited_at__isnull=False)
            case "suspended":
                return queryset.filter(suspended_until__gt=timezone.now())
            case "banned":
                return queryset.filter(banned_at__isnull=False)
            case "closed":
                return queryset.filter(deleted_at__isnull=False)
        return queryset


@admin.register(User)
class UserAdmin(ActsAdmin):
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
        "email_waiting",
        "avatar_name",
        "bio",
        "banner_name",
        "links",
        "place",
        "pronouns",
        "language",
        "unfold_notes",
        "show_sensitive",
        "role_names",
        "two_factor",
        "passkeys",
        "invited_by",
        "created_at",
        "last_seen",
        "limited_at",
        "suspended_until",
        "banned_at",
        "deleted_at",
        "closes_at",
    )
    actions = (
        *("warn", "limit", "unlimit", "suspend", "unsuspend", "ban", "unban"),
        *("take_avatar", "take_banner", "take_bio", "force_offline", "reset_two_factor"),
    )
    shown_to = READING | Right.ROLES
    change_form_template = "admin/accounts/person.html"

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Compare names as searches of people do."""
        key = name_search.key_of(search_term)
        return super().get_search_results(request, queryset, key)

    @admin.display(description=gettext_lazy("roles"))
    def role_names(self, user: User) -> str:
        """Return the names of the roles."""
        return ", ".join(["member", *roles.titles(user.roles)])

    @admin.display(description=gettext_lazy("two-factor sign-in"), boolean=True)
    def two_factor(self, user: User) -> bool:
        """Return whether log-in asks for a code."""
        return two_factor.is_on(user)

    @admin.display(description=gettext_lazy("passkeys"))
    def passkeys(self, user: User) -> int:
        """Return how many passkeys the person has."""
        return passkeys.number_of(user)

    @admin.display(description=gettext_lazy("invited by"))
    def invited_by(self, user: User) -> str:
        """Return who invited the person."""
        return str(invites.inviters([user.pk]).get(user.pk, "-"))

    @admin.display(description=gettext_lazy("erased from"))
    def closes_at(self, user: User) -> str:
        """Return from when a closed account is erased."""
        found = closings.of(user.pk) if user.deleted_at else None
        return date_format(localtime(found.erase_at), "DATETIME_FORMAT") if found else "-"

    def get_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Hide the addresses without the right to them: they serve recovery only."""
        hidden = () if staff_of(request).may(Right.ADDRESSES) else ("email", "email_waiting")
        return [name for name in self.fields if name not in hidden]

    # --- acts -----------------------------------------------------------------------------------
    @admin.action(description=gettext_lazy("Warn the selected people"), permissions=["people"])
    def warn(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Warn the people."""
        question = _("Warn these people? They read your words, and nothing else changes.")
        return self._act_on_grounds(request, queryset, actions.warn, question, WarningForm)

    @admin.action(description=gettext_lazy("Limit the selected people"), permissions=["people"])
    def limit(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Keep the people out of Discover, searches and recommendations."""
        question = _(
            "Limit these people? Neither they nor their posts are recommended or found by a search."
        )
        people = queryset.filter(limited_at__isnull=True)
        return self._act_on_grounds(request, people, actions.limit, question)

    @admin.action(
        description=gettext_lazy("Lift the limit of the selected people"), permissions=["people"]
    )
    def unlimit(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Lift the limit of the people."""
        question = _("Lift the limit of these people?")
        people = queryset.filter(limited_at__isnull=False)
        return self._act(request, people, actions.unlimit, question)

    @admin.action(description=gettext_lazy("Suspend the selected people"), permissions=["people"])
    def suspend(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Keep the people from logging in for some days."""
        question = _(
            "Suspend these people? They are signed out everywhere, and cannot log in for some time."
        )
        return self._act_on_grounds(request, queryset, actions.suspend, question, SuspensionForm)

    @admin.action(
        description=gettext_lazy("End the suspension of the selected people"),
        permissions=["people"],
    )
    def unsuspend(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Let the people log in again."""
        question = _("End the suspension of these people? They can log in again.")
        people = queryset.filter(suspended_until__gt=timezone.now())
        return self._act(request, people, actions.unsuspend, question)

    @admin.action(description=gettext_lazy("Ban the selected people"), permissions=["people"])
    def ban(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Ban the people and end all of their sign-ins."""
        question = _(
            "Ban these people? They are signed out everywhere, and nobody sees their posts."
        )
        people = queryset.filter(banned_at__isnull=True)
        return self._act_on_grounds(request, people, actions.ban, question)

    @admin.action(
        description=gettext_lazy("Lift the ban of the selected people"), permissions=["people"]
    )
    def unban(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Lift the ban of the people."""
        question = _("Lift the ban of these people? They can log in again.")
        people = queryset.filter(banned_at__isnull=False)
        return self._act(request, people, actions.unban, question)

    @admin.action(
        description=gettext_lazy("Remove the profile picture of the selected people"),
        permissions=["people"],
    )
    def take_avatar(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Remove the profile pictures."""
        return self._take(request, queryset, "avatar", _("Remove these profile pictures?"))

    @admin.action(
        description=gettext_lazy("Remove the banner of the selected people"), permissions=["people"]
    )
    def take_banner(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Remove the banners."""
        return self._take(request, queryset, "banner", _("Remove these banners?"))

    @admin.action(
        description=gettext_lazy("Remove the text of the profile of the selected people"),
        permissions=["people"],
    )
    def take_bio(self, request: HttpRequest, queryset: "QuerySet[User]") -> HttpResponse | None:
        """Remove the texts."""
        return self._take(request, queryset, "bio", _("Remove these texts?"))

    def _take(
        self, request: HttpRequest, people: "QuerySet[User]", part: str, question: str
    ) -> HttpResponse | None:
        column, _kind = PARTS[part]
        take = partial(actions.take, part=part)
        return self._act_on_grounds(request, people.exclude(**{column: ""}), take, question)

    @admin.action(
        description=gettext_lazy("Force the selected people offline"), permissions=["people"]
    )
    def force_offline(
        self, request: HttpRequest, queryset: "QuerySet[User]"
    ) -> HttpResponse | None:
        """End all of the people's sign-ins."""
        question = _("Sign these people out everywhere? They can log in again at once.")
        return self._act(request, queryset, actions.force_offline, question)

    @admin.action(
        description=gettext_lazy("Reset two-factor sign-in of the selected people"),
        permissions=["administer"],
    )
    def reset_two_factor(
        self, request: HttpRequest, queryset: "QuerySet[User]"
    ) -> HttpResponse | None:
        """Let the people log in by password alone."""
        question = _(
            "Reset two-factor sign-in of these people? Make sure that they asked for it:"
            " afterwards their password alone is enough to log in."
        )
        return self._act(request, queryset, actions.reset_two_factor, question)

    def _act_on_grounds(
        self,
        request: HttpRequest,
        people: "QuerySet[User]",
        act: Callable[..., Any],
        question: str,
        kind: type[GroundsForm] = GroundsForm,
    ) -> HttpResponse | None:
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, kind)
        return self.act(
            request,
            people,
            lambda user: act(user, actor=actor, address=address, **form.arguments),
            question,
            form,
        )

    def _act(
        self, request: HttpRequest, people: "QuerySet[User]", act: Act, question: str
    ) -> HttpResponse | None:
        actor, address = staff_of(request), address_of(request)
        return self.act(request, people, lambda user: act(user, actor, address), question)

    # --- the page of a person -------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Add the page of the roles."""
        view = self.admin_site.admin_view(partial(roles.roles_page, self.admin_site))
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
            viewer = staff_of(request)
            is_below = user.pk != viewer.pk and (viewer.is_superuser or not user.is_staff)
            extra_context = {
                "may_act": is_below and viewer.may(Right.PEOPLE),
                "may_administer": is_below and viewer.is_superuser,
                "may_change_roles": roles.may_change(viewer, user),
                "has_two_factor": two_factor.is_on(user) or passkeys.number_of(user) > 0,
                "devices": descriptions.devices_of(user, viewer),
                "acts": descriptions.acts_about(user, viewer),
            } | (extra_context or {})
        return super().change_view(request, object_id, form_url, extra_context)
