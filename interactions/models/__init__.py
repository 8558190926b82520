"""Tables: likes, bookmarks, votes, comments, reports, notifications.

A `Subject` is what they refer to.

Writes belong to `interactions.actions`, reads for pages and the API to `interactions.queries`.
"""

from accounts.models import Reason
from interactions.models.bookmarks import Bookmark
from interactions.models.checks import CountCheck
from interactions.models.comments import Comment, CommentContent
from interactions.models.counts import COLUMNS, CountChange, Counted
from interactions.models.likes import Like
from interactions.models.notifications import (
    Notification,
    NotificationCause,
    NotificationReader,
)
from interactions.models.reports import (
    ANSWERS,
    REPORTABLE,
    Answer,
    Case,
    CaseNote,
    Outcome,
    Report,
    ReportedKind,
)
from interactions.models.rising import RisingPost
from interactions.models.subjects import Subject, SubjectType
from interactions.models.votes import Tally, Vote

__all__ = [
    "ANSWERS",
    "COLUMNS",
    "REPORTABLE",
    "Answer",
    "Bookmark",
    "Case",
    "CaseNote",
    "Comment",
    "CommentContent",
    "CountChange",
    "CountCheck",
    "Counted",
    "Like",
    "Notification",
    "NotificationCause",
    "NotificationReader",
    "Outcome",
    "Reason",
    "Report",
    "ReportedKind",
    "RisingPost",
    "Subject",
    "SubjectType",
    "Tally",
    "Vote",
]
