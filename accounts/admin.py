"""Admin of accounts: people and their sign-ins to look at; every change goes through an action."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.contrib.auth.admin import Group  # importing that module registers it
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import ngettext

from accounts import actions as accounts
from accounts.models import Role, TokenBatch, TokenVersion, User
from socialsite.core.admin import ReadOnlyAdmin

admin.site.unregister(Group)  # what staff may do follows from their role


class StateFilter(admin.SimpleListFilter):
    """Open, banned and closed accounts."""

    title = "state"
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[User]"
    ) -> list[tuple[str, str]]:
        """Name the states."""
        return [("open", "open"), ("banned", "banned"), ("closed", "closed")]

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


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """People. The password hash is not shown."""

    list_display = ("id", "username", "nickname", "role_names", "created_at", "banned_at")
    list_filter = (StateFilter,)
    search_fields = ("=id", "username_key__startswith", "nickname_key__startswith")
    search_help_text = "an id, or the beginning of a username or name"
    ordering = ("-id",)
    fields = (
        "id",
        "username",
        "nickname",
        "email",
        "avatar_name",
        "bio",
        "role_names",
        "created_at",
        "last_seen",
        "banned_at",
        "deleted_at",
    )
    actions = ("ban", "unban")

    @admin.display(description="roles")
    def role_names(self, user: User) -> str:
        """Spell out the bits."""
        return ", ".join(role.label for role in Role if user.roles & role)

    @admin.action(description="Ban the selected people", permissions=["view"])
    def ban(self, request: HttpRequest, queryset: "QuerySet[User]") -> None:
        """Ban them and end all of their sign-ins."""
        self._each(request, queryset.filter(banned_at__isnull=True), accounts.ban)

    @admin.action(description="Lift the ban of the selected people", permissions=["view"])
    def unban(self, request: HttpRequest, queryset: "QuerySet[User]") -> None:
        """Let them log in again."""
        self._each(request, queryset.filter(banned_at__isnull=False), accounts.unban)

    def _each(
        self, request: HttpRequest, people: "QuerySet[User]", act: Callable[[User], User]
    ) -> None:
        """Act on people; nobody acts on themselves, and moderators not on staff."""
        done = refused = 0
        for user in people:
            staff = user.roles & (Role.MODERATOR | Role.ADMIN)
            if user.pk == request.user.pk or (staff and not request.user.is_superuser):
                refused += 1
                continue
            act(user)
            done += 1
        text = ngettext("Done for %(count)d person.", "Done for %(count)d people.", done)
        self.message_user(request, text % {"count": done}, messages.SUCCESS)
        if refused:
            text = ngettext(
                "You may not do this to %(count)d person.",
                "You may not do this to %(count)d people.",
                refused,
            )
            self.message_user(request, text % {"count": refused}, messages.WARNING)


@admin.register(TokenVersion)
class TokenVersionAdmin(ReadOnlyAdmin):
    """Devices: the numbers of one kind of device of a person."""

    list_display = ("user", "client", "version", "access_floor", "refresh_floor", "last_seen")
    list_filter = ("client",)
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-id",)
    # Not the ids of live tokens.
    fields = (
        "user",
        "client",
        "version",
        "access_floor",
        "refresh_floor",
        "user_agent",
        "address",
        "last_seen",
    )


@admin.register(TokenBatch)
class TokenBatchAdmin(ReadOnlyAdmin):
    """The numbers of all devices of a person together."""

    list_display = ("user", "batch", "access_floor", "refresh_floor")
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-user_id",)
