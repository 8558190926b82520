"""Pages of interactions."""

from django.urls import path

from interactions.views import bookmarks, comments, likes, notifications, reports, reposts

urlpatterns = [
    path("posts/<str:post_id>/like", likes.post_like, name="post_like"),
    path("posts/<str:post_id>/bookmark", bookmarks.post_bookmark, name="post_bookmark"),
    path("posts/<str:post_id>/repost", reposts.post_repost, name="post_repost"),
    path("posts/<str:post_id>/repost/undo", reposts.repost_undo, name="repost_undo"),
    path("report/<str:kind>/<str:subject_id>", reports.report, name="report"),
    path("bookmarks", bookmarks.bookmarks, name="bookmarks"),
    path("posts/<str:post_id>/comments", comments.comment_create, name="comment_create"),
    path("comments/<str:comment_id>/delete", comments.comment_delete, name="comment_delete"),
    path("notifications", notifications.notifications, name="notifications"),
    path("notifications/read", notifications.notifications_read, name="notifications_read"),
    path(
        "settings/notifications",
        notifications.notification_settings,
        name="notification_settings",
    ),
]
