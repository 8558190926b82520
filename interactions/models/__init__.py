"""Likes, bookmarks, comments, notifications; a `Subject` is whatever has them (A36)."""

from interactions.models.bookmarks import Bookmark
from interactions.models.comments import Comment, CommentContent
from interactions.models.likes import Like, LikeChange
from interactions.models.notifications import (
    Notification,
    NotificationCause,
    NotificationReader,
)
from interactions.models.subjects import Subject, SubjectType

__all__ = [
    "Bookmark",
    "Comment",
    "CommentContent",
    "Like",
    "LikeChange",
    "Notification",
    "NotificationCause",
    "NotificationReader",
    "Subject",
    "SubjectType",
]
