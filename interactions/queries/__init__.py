"""Reads of interactions: for post cards, bookmarks, threads of comments, notifications."""

from interactions.queries.bookmarks import bookmarks
from interactions.queries.comments import (
    STATUSES,
    CommentCard,
    above,
    comment,
    comment_status,
    comments,
    replies,
    thread_of,
    visible_comment,
)
from interactions.queries.decoration import Decoration, decorate
from interactions.queries.likes import like_count, liked_ids
from interactions.queries.notifications import (
    Item,
    Unread,
    notifications,
    preferences,
    unread_count,
)

__all__ = [
    "STATUSES",
    "CommentCard",
    "Decoration",
    "Item",
    "Unread",
    "above",
    "bookmarks",
    "comment",
    "comment_status",
    "comments",
    "decorate",
    "like_count",
    "liked_ids",
    "notifications",
    "preferences",
    "replies",
    "thread_of",
    "unread_count",
    "visible_comment",
]
