"""Pages of interactions."""

from django.urls import path

from interactions.views import (
    bookmarks,
    comments,
    likes,
    notifications,
    reports,
    reposts,
    threads,
    votes,
)

urlpatterns = [
    path("posts/<str:post_id>/like", likes.post_like, name="post_like"),
    path("posts/<str:post_id>/vote", votes.post_vote, name="post_vote"),
    path("posts/<str:post_id>/bookmark", bookmarks.post_bookmark, name="post_bookmark"),
    path("posts/<str:post_id>/repost", reposts.post_repost, name="post_repost"),
    path("posts/<str:post_id>/repost/undo", reposts.repost_undo, name="repost_undo"),
    path("report/<str:kind>/<str:subject_id>", reports.report, name="report"),
    path("bookmarks", bookmarks.bookmarks, name="bookmarks"),
    path("posts/<str:post_id>/comments", comments.comment_create, name="comment_create"),
    path("posts/<str:post_id>/likes", likes.post_likes, name="post_likes"),
    path("posts/<str:post_id>/comment-settings", threads.comment_settings, name="comment_settings"),
    path("comments/<str:comment_id>/like", likes.comment_like, name="comment_like"),
    path("comments/<str:comment_id>/likes", likes.comment_likes, name="comment_likes"),
    path("comments/<str:comment_id>/reply", threads.comment_reply, name="comment_reply"),
    path("comments/<str:comment_id>/replies", threads.comment_replies, name="comment_replies"),
    path("comments/<str:comment_id>/pin", threads.comment_pin, name="comment_pin"),
    path("comments/<str:comment_id>/edit", comments.comment_edit, name="comment_edit"),
    path("comments/<str:comment_id>/delete", comments.comment_delete, name="comment_delete"),
    path("notifications", notifications.notifications, name="notifications"),
    path("notifications/read", notifications.notifications_read, name="notifications_read"),
    path("notifications/seen", notifications.notifications_seen, name="notifications_seen"),
    path(
        "settings/notifications",
        notifications.notification_settings,
        name="notification_settings",
    ),
]
