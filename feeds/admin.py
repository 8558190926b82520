"""Admin of feeds: posts are deleted through the action, the rest is read-only."""

import time
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import actions as accounts
from accounts.devices import address_of
from feeds import actions, progress
from feeds.models import FanOut, FanOutChunk, Post, RecommendedAuthor
from socialsite.core.admin import ReadOnlyAdmin

CHUNKS_SHOWN = 500


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


class ChunksInline(admin.TabularInline):  # type: ignore[type-arg]
    """The first chunks of a delivery; all of them are in their own list."""

    model = FanOutChunk
    fields = readonly_fields = ("number", "lower", "upper", "delivered", "done", "uncached")
    extra, max_num, can_delete = 0, 0, False
    ordering = ("number",)
    verbose_name_plural = f"chunks (the first {CHUNKS_SHOWN})"

    def get_queryset(self, request: HttpRequest) -> "QuerySet[FanOutChunk]":
        """Bound what one page shows."""
        return super().get_queryset(request).filter(number__lt=CHUNKS_SHOWN)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody."""
        return False


@admin.register(FanOut)
class FanOutAdmin(ReadOnlyAdmin):
    """Deliveries and how far they are."""

    list_display = ("post_id", "author", "mode", "state", "chunks", "delivered", "leases", "age")
    list_filter = ("state", "mode")
    list_select_related = ("author",)
    search_fields = ("=post_id", "=author__username_key")
    ordering = ("state", "-post_id")
    inlines = (ChunksInline,)
    fields = readonly_fields = (
        "post_id",
        "author",
        "mode",
        "state",
        "chunks",
        "delivered",
        "leases",
        "age",
    )

    def get_queryset(self, request: HttpRequest) -> "QuerySet[FanOut]":
        """Count the chunks in the same query."""
        return progress.with_progress(super().get_queryset(request))

    @admin.display(description="chunks done")
    def chunks(self, row: Any) -> str:
        """Done of all."""
        return f"{row.chunks_done}/{row.total}"

    @admin.display(description="rows delivered")
    def delivered(self, row: Any) -> int:
        """Rows inserted by the chunks that are done."""
        return int(row.delivered)

    @admin.display(description="leases held / expired")
    def leases(self, row: Any) -> str:
        """Chunks somebody works on, and those that were left."""
        return f"{row.held} / {row.expired}"

    @admin.display(description="took, or open for")
    def age(self, row: FanOut) -> str:
        """Seconds; by this host's clock while it is open."""
        return f"{progress.age_ms(row, time.time_ns() // 1_000_000) / 1000:.1f} s"


@admin.register(FanOutChunk)
class FanOutChunkAdmin(ReadOnlyAdmin):
    """Chunks of deliveries."""

    list_display = ("fanout_id", "number", "lower", "upper", "delivered", "done", "uncached")
    list_filter = ("done", "uncached")
    search_fields = ("=fanout_id",)


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
