"""Admin of interactions: the queue of reports, the rest to look at; all is done by actions."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.devices import address_of
from interactions import (
    actions,
    queue_admin,  # noqa: F401  (registers the queue)
)
from interactions.models import Comment, Like, Notification, NotificationCause, Subject
from socialsite.core.admin import ReadOnlyAdmin


@admin.register(Subject)
class SubjectAdmin(ReadOnlyAdmin):
    """What is liked and talked about, and its counts."""

    list_display = ("id", "subj_type", "subj_id", "like_count", "comment_count", "status")
    list_filter = ("subj_type", "status")
    search_fields = ("=subj_id",)


@admin.register(Like)
class LikeAdmin(ReadOnlyAdmin):
    """Who likes what."""

    list_display = ("id", "user", "subj_type", "subj_id")
    list_filter = ("subj_type",)
    list_select_related = ("user",)
    search_fields = ("=subj_id", "=user__username_key")


@admin.register(Comment)
class CommentAdmin(ReadOnlyAdmin):
    """Comments and their words; staff may delete them."""

    list_display = ("id", "author", "words", "like_count", "reply_count", "deleted")
    list_filter = ("deleted",)
    list_select_related = ("author", "content_row")
    search_fields = ("=id", "=author__username_key")
    actions = ("delete_comments",)

    @admin.display(description="words")
    def words(self, comment: Comment) -> str:
        """Return the beginning of the text."""
        return str(comment.content_row)

    @admin.action(description="Delete the selected comments")
    def delete_comments(self, request: HttpRequest, queryset: "QuerySet[Comment]") -> None:
        """Delete as staff."""
        for ident in queryset.filter(deleted=False).values_list("pk", flat=True):
            actions.delete_comment(request.user, ident, address_of(request))


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    """What people are told; the words and names are asked for when they read it."""

    list_display = ("id", "user", "kind", "subject_id", "actor_count", "is_unread")
    list_filter = ("kind", "is_unread")
    list_select_related = ("user",)
    search_fields = ("=subject_id", "=user__username_key")


@admin.register(NotificationCause)
class NotificationCauseAdmin(ReadOnlyAdmin):
    """Why they are told."""

    list_display = ("id", "user_id", "kind", "subject_id", "actor_id", "stands", "shown", "muted")
    list_filter = ("kind",)
    search_fields = ("=subject_id", "=user_id", "=actor_id")
