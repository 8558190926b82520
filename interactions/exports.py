"""What interactions adds to the archive of a person's own data."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from interactions.models import (
    Bookmark,
    Comment,
    Like,
    NotificationReader,
    Report,
    ReportedKind,
    SubjectType,
    Vote,
)
from socialsite.core.exports.parts import Field, Part, Record, in_steps
from socialsite.core.times import iso


def _comments(user_id: int) -> Iterator[Record]:
    rows = Comment.objects.filter(author=user_id, deleted=False)
    for step in in_steps(rows.select_related("subject", "content_row"), "id"):
        for comment in step:
            words = comment.content_row
            yield {
                "id": str(comment.pk),
                "post_id": str(comment.subject.subj_id),
                "answer_to": str(comment.parent_id) if comment.parent_id else None,
                "at": iso(comment.position),
                "content": words.content,
                "edited_at": iso(words.edited_at) if words.edited_at else None,
            }


COMMENTS = Part(
    "comments",
    _("Comments"),
    {
        "id": Field("string", "number of the comment"),
        "post_id": Field("string", "number of the post"),
        "answer_to": Field("string|null", "number of the comment that it answers"),
        "at": Field("string", "time"),
        "content": Field("string", "the text"),
        "edited_at": Field("string|null", "time of the last edit"),
    },
    _comments,
)


def _likes(user_id: int) -> Iterator[Record]:
    for step in in_steps(Like.objects.filter(user=user_id), "id"):
        for row in step:
            yield {
                "type": SubjectType(row.subj_type).name.lower(),
                "id": str(row.subj_id),
                "at": iso(row.created_at),
            }


LIKES = Part(
    "likes",
    _("Likes"),
    {
        "type": Field("string", "post or comment"),
        "id": Field("string", "its number"),
        "at": Field("string", "time"),
    },
    _likes,
)


def _bookmarks(user_id: int) -> Iterator[Record]:
    for step in in_steps(Bookmark.objects.filter(user=user_id), "id"):
        yield from ({"post_id": str(row.post_id), "at": iso(row.position)} for row in step)


BOOKMARKS = Part(
    "bookmarks",
    _("Bookmarks"),
    {"post_id": Field("string", "number of the post"), "at": Field("string", "time")},
    _bookmarks,
)


def _votes(user_id: int) -> Iterator[Record]:
    for step in in_steps(Vote.objects.filter(user=user_id), "id"):
        for row in step:
            yield {
                "post_id": str(row.post_id),
                "choices": [place for place in range(16) if row.choices >> place & 1],
                "at": iso(row.created_at),
            }


VOTES = Part(
    "votes",
    _("Votes"),
    {
        "post_id": Field("string", "number of the post with the poll"),
        "choices": Field("array", "places of the chosen options, from 0"),
        "at": Field("string", "time"),
    },
    _votes,
)


def _reports(user_id: int) -> Iterator[Record]:
    for step in in_steps(Report.objects.filter(reporter=user_id).select_related("case"), "id"):
        for row in step:
            yield {
                "type": ReportedKind(row.case.kind).name.lower(),
                "id": str(row.case.subject_id),
                "reason": row.reason,
                "words": row.words,
                "at": iso(row.created_at),
            }


REPORTS = Part(
    "reports",
    _("Your reports"),
    {
        "type": Field("string", "post, comment or user"),
        "id": Field("string", "its number"),
        "reason": Field("string", ""),
        "words": Field("string", ""),
        "at": Field("string", "time"),
    },
    _reports,
)


def _preferences(user_id: int) -> Iterator[Record]:
    for row in NotificationReader.objects.filter(user=user_id):
        yield {"shown": row.preferences, "not_pushed": row.not_pushed}


PREFERENCES = Part(
    "notification_preferences",
    _("Notification settings"),
    {
        "shown": Field("object", "kind of notification → from whom"),
        "not_pushed": Field("array", "kinds that are not pushed to devices"),
    },
    _preferences,
)
PARTS = (COMMENTS, LIKES, BOOKMARKS, VOTES, REPORTS, PREFERENCES)
