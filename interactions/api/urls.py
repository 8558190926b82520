"""API addresses of interactions."""

from django.urls import path

from interactions.api import (
    bookmarks,
    comments,
    likes,
    notifications,
    push,
    reports,
    reposts,
    threads,
    votes,
)
from interactions.models import SubjectType

COMMENT = SubjectType.COMMENT

urlpatterns = [
    path("posts/<str:post_id>/like", likes.Like.as_view()),
    path("posts/<str:post_id>/vote", votes.PostVote.as_view()),
    path("posts/<str:post_id>/bookmark", bookmarks.PostBookmark.as_view()),
    path("posts/<str:post_id>/repost", reposts.PostRepost.as_view()),
    path("reports", reports.Reports.as_view()),
    path("bookmarks", bookmarks.Bookmarks.as_view()),
    path("posts/<str:post_id>/comments", comments.PostComments.as_view()),
    path("comments/<str:comment_id>", comments.OneComment.as_view()),
    path("posts/<str:post_id>/likes", likes.Likes.as_view()),
    path("comments/<str:comment_id>/likes", likes.Likes.as_view(subj_type=COMMENT)),
    path("comments/<str:comment_id>/like", likes.Like.as_view(subj_type=COMMENT)),
    path("posts/<str:post_id>/comment-settings", threads.CommentSettings.as_view()),
    path("comments/<str:comment_id>/pin", threads.Pin.as_view()),
    path("comments/<str:comment_id>/replies", comments.Replies.as_view()),
    path("notifications", notifications.Notifications.as_view()),
    path("notifications/read", notifications.Read.as_view()),
    path("notifications/unread-count", notifications.UnreadCount.as_view()),
    path("me/push", push.Push.as_view()),
    path("users/me/notification-preferences", notifications.Preferences.as_view()),
]
