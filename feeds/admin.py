"""Admin of feeds: posts are deleted through the action, the rest is read-only."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import actions as accounts
from accounts.devices import address_of
from feeds import actions
from feeds.models import FanOut, FanOutChunk, Post, RecommendedAuthor
from socialsite.core.admin import ReadOnlyAdmin


@admin.register(Post)
class PostAdmin(ReadOnlyAdmin):
    """Posts; deleting one goes through `actions.delete`."""

    list_display = ("id", "author", "kind", "visibility", "mode", "is_deleted")
    list_filter = ("kind", "visibility", "mode", "is_deleted")
    list_select_related = ("author",)
    search_fields = ("=id", "=author__username_key")
    actions = ("delete_posts",)

    @admin.action(description="Delete the selected posts")
    def delete_posts(self, request: HttpRequest, queryset: "QuerySet[Post]") -> None:
        """Delete as staff."""
        for ident in queryset.filter(is_deleted=False).values_list("pk", flat=True):
            actions.delete(request.user, ident, address_of(request))


@admin.register(FanOut)
class FanOutAdmin(ReadOnlyAdmin):
    """Deliveries and how far they are."""

    list_display = ("post_id", "author", "mode", "total", "state")
    list_filter = ("state", "mode")
    list_select_related = ("author",)


@admin.register(FanOutChunk)
class FanOutChunkAdmin(ReadOnlyAdmin):
    """Chunks of deliveries."""

    list_display = ("fanout_id", "number", "lower", "upper", "delivered", "done")
    list_filter = ("done",)


@admin.register(RecommendedAuthor)
class RecommendedAuthorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Whom the recommended feed follows (C4)."""

    list_display = ("author", "added_at")
    raw_id_fields = ("author",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """There is nothing to change: add or remove."""
        return False

    def save_model(self, request: HttpRequest, obj: RecommendedAuthor, *args: Any) -> None:
        """Add, and note who did."""
        super().save_model(request, obj, *args)
        self._note(request, accounts.Act.RECOMMEND, obj)

    def delete_model(self, request: HttpRequest, obj: RecommendedAuthor) -> None:
        """Remove, and note who did."""
        self._note(request, accounts.Act.UNRECOMMEND, obj)
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(
        self, request: HttpRequest, queryset: "QuerySet[RecommendedAuthor]"
    ) -> None:
        """Remove one by one."""
        for row in queryset:
            self.delete_model(request, row)

    @staticmethod
    def _note(request: HttpRequest, act: str, row: RecommendedAuthor) -> None:
        accounts.note(request.user, act, "user", row.author_id, address=address_of(request))
