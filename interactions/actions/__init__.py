"""Writes of interactions.

Locks are taken in one order to avoid deadlocks: first the subject of the post, then comments.
Likes, reposts and bookmarks of one object wait neither for that lock nor for each other.
"""

from interactions.actions.bookmarks import bookmark, unbookmark
from interactions.actions.cases import give_back_case, note_case, take_case
from interactions.actions.comments import comment, delete_comment, edit_comment, restore_comment
from interactions.actions.counts import FOLD_MAX, count_repost, fold_counts
from interactions.actions.likes import like, unlike
from interactions.actions.notifications import (
    choose_notifications,
    choose_pushed,
    read_notifications,
)
from interactions.actions.pins import PIN_MAX, pin, unpin
from interactions.actions.reports import (
    ban_reported,
    check_reportable,
    close_case,
    close_erased,
    close_reports_about,
    close_reports_of,
    delete_reported,
    dismiss_reports,
    limit_reported,
    note_reported,
    report,
    suspend_reported,
    warn_reported,
)
from interactions.actions.subjects import ensure_subject, mark_post_deleted, set_comment_status
from interactions.actions.votes import fold_votes, vote, withdraw_vote

__all__ = [
    "FOLD_MAX",
    "PIN_MAX",
    "ban_reported",
    "bookmark",
    "check_reportable",
    "choose_notifications",
    "choose_pushed",
    "close_case",
    "close_erased",
    "close_reports_about",
    "close_reports_of",
    "comment",
    "count_repost",
    "delete_comment",
    "delete_reported",
    "dismiss_reports",
    "edit_comment",
    "ensure_subject",
    "fold_counts",
    "fold_votes",
    "give_back_case",
    "like",
    "limit_reported",
    "mark_post_deleted",
    "note_case",
    "note_reported",
    "pin",
    "read_notifications",
    "report",
    "restore_comment",
    "set_comment_status",
    "suspend_reported",
    "take_case",
    "unbookmark",
    "unlike",
    "unpin",
    "vote",
    "warn_reported",
    "withdraw_vote",
]
