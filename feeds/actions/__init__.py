"""Writes of feeds.

Locks of a write are taken in one order: the head of the author or the post, then its pictures.
"""

from feeds.actions.editing import check_edit, edit
from feeds.actions.noting import put_note, take_note
from feeds.actions.picture_placeholders import copy_placeholders
from feeds.actions.post_rules import REPOST_MAX, compose
from feeds.actions.publishing import delete, finish_removal, publish, repost, undo_repost
from feeds.actions.read_marks import LATE_MS, mark_first_page_read, mark_read
from feeds.actions.removing import restore

__all__ = [
    "LATE_MS",
    "REPOST_MAX",
    "check_edit",
    "compose",
    "copy_placeholders",
    "delete",
    "edit",
    "finish_removal",
    "mark_first_page_read",
    "mark_read",
    "publish",
    "put_note",
    "repost",
    "restore",
    "take_note",
    "undo_repost",
]
