"""Reads of interactions: for post cards, bookmarks, threads of comments, notifications.

Writes belong to `interactions.actions`, and cached values to `interactions.cache`.
"""

from interactions.queries.bookmarks import bookmarks
from interactions.queries.cases import CaseComment, case_shows, case_thread
from interactions.queries.comments import (
    STATUSES,
    CommentCard,
    above,
    comment,
    comment_is_there,
    comment_status,
    comments,
    discussion,
    discussion_below,
    replies,
    thread_of,
    visible_comment,
    written,
)
from interactions.queries.counts import number_of
from interactions.queries.decoration import Decoration, decorate
from interactions.queries.likers import likers
from interactions.queries.mentions import unseen_in_comment, unseen_in_post
from interactions.queries.notifications import (
    Item,
    Unread,
    notifications,
    preferences,
    pushed_kinds,
    unread_count,
)
from interactions.queries.of_person import liked_posts, posts_and_replies
from interactions.queries.reported import Reported, reported
from interactions.queries.rising import rising
from interactions.queries.threads import Sort

__all__ = [
    "STATUSES",
    "CaseComment",
    "CommentCard",
    "Decoration",
    "Item",
    "Reported",
    "Sort",
    "Unread",
    "above",
    "bookmarks",
    "case_shows",
    "case_thread",
    "comment",
    "comment_is_there",
    "comment_status",
    "comments",
    "decorate",
    "discussion",
    "discussion_below",
    "liked_posts",
    "likers",
    "notifications",
    "number_of",
    "posts_and_replies",
    "preferences",
    "pushed_kinds",
    "replies",
    "reported",
    "rising",
    "thread_of",
    "unread_count",
    "unseen_in_comment",
    "unseen_in_post",
    "visible_comment",
    "written",
]
