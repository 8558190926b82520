"""Admin of interactions: the queue of reports, and read-only lists with actions.

Acts of staff on comments and reports belong to `interactions.actions`.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.acts import ActsAdmin
from accounts.admin.staff_acts import GroundsForm
from accounts.request_auth.requests import staff_of
from interactions import actions, queries
from interactions.admin import queue  # noqa: F401  (registers the queue)
from interactions.models import (
    Comment,
    Counted,
    Like,
    Notification,
    NotificationCause,
    Subject,
    SubjectType,
    Tally,
    Vote,
)
from socialsite.core.admin import ReadOnlyAdmin, id_column
from socialsite.core.http.ip_addresses import address_of


@admin.register(Subject)
class SubjectAdmin(ReadOnlyAdmin):
    """Posts with their numbers of likes, comments, reposts and bookmarks."""

    list_display = (
        *("id", "subj_type", "subj_id", "likes", "comment_count", "reposts", "bookmarks"),
        "status",
    )
    fields = (*list_display[1:], "pins", "created_at", "updated_at")
    readonly_fields = ("likes", "reposts", "bookmarks")
    list_filter = ("subj_type", "status")
    search_fields = ("=subj_id",)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Subject]":
        """Add the changes that are not folded into the counts yet."""
        likes, reposts, bookmarks = (
            queries.number_of(counted, SubjectType.POST, "subj_id")
            for counted in (Counted.LIKE, Counted.REPOST, Counted.BOOKMARK)
        )
        found = super().get_queryset(request)
        return found.annotate(likes=likes, reposts=reposts, bookmarks=bookmarks)

    @admin.display(ordering="like_count", description=gettext_lazy("like count"))
    def likes(self, subject: Any) -> int:
        """Return the number of likes."""
        return int(subject.likes)

    @admin.display(ordering="repost_count", description=gettext_lazy("repost count"))
    def reposts(self, subject: Any) -> int:
        """Return the number of reposts."""
        return int(subject.reposts)

    @admin.display(ordering="bookmark_count", description=gettext_lazy("bookmark count"))
    def bookmarks(self, subject: Any) -> int:
        """Return the number of bookmarks."""
        return int(subject.bookmarks)


@admin.register(Like)
class LikeAdmin(ReadOnlyAdmin):
    """Admin of likes: the person and the subject."""

    list_display = ("id", "user", "subj_type", "subj_id")
    list_filter = ("subj_type",)
    list_select_related = ("user",)
    search_fields = ("=subj_id", "=user__username_key")


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    """Admin of votes: the person and the poll. Nobody can change them or see the choices."""

    of_post = id_column("post_id", gettext_lazy("post id"))
    list_display = ("id", "user", "of_post")
    fields = readonly_fields = list_display
    list_select_related = ("user",)
    search_fields = ("=post_id", "=user__username_key")


@admin.register(Tally)
class TallyAdmin(ReadOnlyAdmin):
    """Results of polls, as of the last fold; the page of the post adds the votes since."""

    of_post = id_column("post_id", gettext_lazy("post id"))
    list_display = ("of_post", *Tally.COUNTS)
    fields = readonly_fields = ("of_post", *Tally.COUNTS)
    search_fields = ("=post_id",)


@admin.register(Comment)
class CommentAdmin(ActsAdmin):
    """Comments with their text; staff may delete them."""

    list_display = ("id", "author", "words", "likes", "reply_count", "deleted")
    exclude = ("like_count",)
    readonly_fields = ("likes",)
    list_filter = ("deleted",)
    list_select_related = ("author", "content_row")
    search_fields = ("=id", "=author__username_key")
    actions = ("delete_comments",)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Comment]":
        """Add the changes that are not folded into the counts yet."""
        likes = queries.number_of(Counted.LIKE, SubjectType.COMMENT, "id")
        return super().get_queryset(request).annotate(likes=likes)

    @admin.display(ordering="like_count", description=gettext_lazy("like count"))
    def likes(self, comment: Any) -> int:
        """Return the number of likes."""
        return int(comment.likes)

    @admin.display(description=gettext_lazy("text"))
    def words(self, comment: Comment) -> str:
        """Return the beginning of the text."""
        return str(comment.content_row)

    def described(self, rows: Sequence[Comment]) -> list[str]:
        """Return the comments with their authors and their words."""
        return [f"{row.author}: {row.content_row}" for row in rows]

    @admin.action(description=gettext_lazy("Delete the selected comments"), permissions=["content"])
    def delete_comments(
        self, request: HttpRequest, queryset: "QuerySet[Comment]"
    ) -> HttpResponse | None:
        """Delete comments as staff."""
        actor, address = staff_of(request), address_of(request)
        form = self.form_of(request, GroundsForm)
        return self.act(
            request,
            queryset.filter(deleted=False).select_related("author", "content_row"),
            lambda row: actions.delete_comment(
                actor, row.pk, address, as_staff=True, **form.arguments
            ),
            _("Delete these comments? Their authors read the reason."),
            form,
        )


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    """Notifications of people; texts and names are only looked up when a person reads them."""

    list_display = ("id", "user", "kind", "subject_id", "actor_count", "is_unread")
    list_filter = ("kind", "is_unread")
    list_select_related = ("user",)
    search_fields = ("=subject_id", "=user__username_key")


@admin.register(NotificationCause)
class NotificationCauseAdmin(ReadOnlyAdmin):
    """The causes of notifications."""

    of_user = id_column("user_id", gettext_lazy("user id"))
    of_actor = id_column("actor_id", gettext_lazy("actor id"))
    list_display = (
        "id",
        "of_user",
        "kind",
        "subject_id",
        "of_actor",
        "stands",
        "shown",
        "muted",
    )
    list_filter = ("kind",)
    search_fields = ("=subject_id", "=user__username_key", "=actor__username_key")
