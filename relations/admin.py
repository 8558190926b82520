"""Admin of relations: to look at only; a change goes through the actions."""

from django.contrib import admin

from relations.models import RelationCount, RelationLog, Relationship
from socialsite.core.admin import ReadOnlyAdmin


@admin.register(Relationship)
class RelationshipAdmin(ReadOnlyAdmin):
    """Pairs, found by the id or the name of the owner of the row."""

    list_display = ("id", "from_user", "relation", "to_user", "version")
    list_filter = ("relation",)
    list_select_related = ("from_user", "to_user")
    search_fields = ("=from_user__id", "=from_user__username_key")
    ordering = ("-id",)


@admin.register(RelationLog)
class RelationLogAdmin(ReadOnlyAdmin):
    """What happened to a pair, the latest first."""

    list_display = ("id", "actor", "action", "target", "before", "after", "version")
    list_filter = ("action",)
    list_select_related = ("actor", "target")
    search_fields = ("=actor__id", "=actor__username_key")
    ordering = ("-id",)


@admin.register(RelationCount)
class RelationCountAdmin(ReadOnlyAdmin):
    """Counters of people."""

    list_display = ("user", "following", "followers", "friends", "blocked")
    list_select_related = ("user",)
    search_fields = ("=user__id", "=user__username_key")
    ordering = ("-user_id",)
