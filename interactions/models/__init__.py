"""Likes, bookmarks and comments. A `Subject` is whatever can be liked or talked about (A36)."""

from interactions.models.bookmarks import Bookmark
from interactions.models.comments import Comment, CommentContent
from interactions.models.likes import Like, LikeChange
from interactions.models.subjects import Subject, SubjectType

__all__ = ["Bookmark", "Comment", "CommentContent", "Like", "LikeChange", "Subject", "SubjectType"]
