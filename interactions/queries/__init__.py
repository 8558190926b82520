"""Reads of interactions: counts and likes for post cards, bookmarks, threads of comments."""

from interactions.queries.bookmarks import bookmarks
from interactions.queries.comments import CommentCard, comment, comments, replies, visible_comment
from interactions.queries.decoration import Decoration, decorate
from interactions.queries.likes import like_count, liked_ids

__all__ = [
    "CommentCard",
    "Decoration",
    "bookmarks",
    "comment",
    "comments",
    "decorate",
    "like_count",
    "liked_ids",
    "replies",
    "visible_comment",
]
