"""What is erased of the comments, likes, votes, notifications and reports of a closed account."""

from collections.abc import Collection
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from feeds import erasing as feeds_erasing
from feeds import queries as feeds_queries
from interactions import actions, cache
from interactions.models import (
    Bookmark,
    Case,
    CaseNote,
    Comment,
    CommentContent,
    CountChange,
    Like,
    Notification,
    NotificationCause,
    NotificationReader,
    Report,
    ReportedKind,
    Subject,
    SubjectType,
    Tally,
    Vote,
)
from interactions.notifying import fold
from socialsite.core import db
from socialsite.core.erasing import Eraser, Stage, cleared, counted, one_by_one, register, rows

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT
# Comments that are looked at together.
STEP = 200


# --- what others see ----------------------------------------------------------------------------
def _live_comments(user_id: int) -> "QuerySet[Comment]":
    return Comment.objects.filter(author_id=user_id, deleted=False)


def _delete_comment(user_id: int, comment_id: int) -> None:
    actions.delete_comment(User.known(user_id), comment_id)


def _likes(user_id: int) -> "QuerySet[Like]":
    return Like.objects.filter(user_id=user_id)


def _unlike(user_id: int, like_id: int) -> None:
    for like in _likes(user_id).filter(pk=like_id):
        actions.unlike(User.known(user_id), like.subj_type, like.subj_id)


def _bookmarks(user_id: int) -> "QuerySet[Bookmark]":
    return Bookmark.objects.filter(user_id=user_id)


def _unbookmark(user_id: int, bookmark_id: int) -> None:
    for post_id in _bookmarks(user_id).filter(pk=bookmark_id).values_list("post_id", flat=True):
        actions.unbookmark(User.known(user_id), post_id)


def _votes(user_id: int) -> "QuerySet[Vote]":
    return Vote.objects.filter(user_id=user_id)


# --- words and rows of comments -----------------------------------------------------------------
def _written(user_id: int) -> "QuerySet[CommentContent]":
    found = CommentContent.objects.filter(comment__author_id=user_id, comment__deleted=True)
    return found.exclude(content="", version=1, edited_at=None)


def _erase_comments(user_id: int, limit: int) -> int:
    """Delete the rows of comments without an answer or a like, and without a report.

    Others stay as tombstones.
    """
    after, gone = 0, 0
    while gone < limit:
        found = Comment.objects.filter(author_id=user_id, deleted=True, pk__gt=after)
        ids = list(found.order_by("pk").values_list("pk", flat=True)[:STEP])
        if not ids:
            break
        after = ids[-1]
        gone += _drop_comments(ids)
    return gone


@db.atomic
def _drop_comments(ids: Collection[int]) -> int:
    locked = Comment.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    found = set(locked.values_list("pk", flat=True))
    answers = Comment.objects.filter(parent_id__in=ids)
    free = found - set(answers.values_list("parent_id", flat=True)) - _touched(COMMENT, ids)
    # A thread's root may have answers to answers only.
    threads = Comment.objects.filter(pk__in=free, root_id=None).values("subject_id")
    below = Comment.objects.filter(subject_id__in=threads, root_id__in=free)
    free -= set(below.values_list("root_id", flat=True))
    posts = Comment.objects.filter(pk__in=free).values_list("subject__subj_id", flat=True)
    _drop_notifications(Q(post_id__in=set(posts), subject_id__in=free))
    CommentContent.objects.filter(pk__in=free).delete()
    Comment.objects.filter(pk__in=free).delete()
    return len(free)


def _touched(kind: SubjectType, ids: Collection[int]) -> set[int]:
    """Return those of these posts or comments with a like, an open count or a report."""
    about = {"subj_type": kind, "subj_id__in": ids}
    found = set(Like.objects.filter(**about).values_list("subj_id", flat=True))
    found |= set(CountChange.objects.filter(**about).values_list("subj_id", flat=True))
    reported = ReportedKind.POST if kind == POST else ReportedKind.COMMENT
    cases = Case.objects.filter(kind=reported, subject_id__in=ids)
    return found | set(cases.values_list("subject_id", flat=True))


# --- posts of the person ------------------------------------------------------------------------
def _held(post_ids: Collection[int]) -> set[int]:
    """Return those of these posts with a comment, a like, a bookmark or a report of somebody."""
    found = _touched(POST, post_ids)
    found |= set(Bookmark.objects.filter(post_id__in=post_ids).values_list("post_id", flat=True))
    comments = Comment.objects.filter(subject__subj_type=POST, subject__subj_id__in=post_ids)
    return found | set(comments.values_list("subject__subj_id", flat=True).distinct())


def _drop(post_ids: Collection[int]) -> None:
    _drop_notifications(Q(post_id__in=post_ids))
    Subject.objects.filter(subj_type=POST, subj_id__in=post_ids).delete()


feeds_erasing.holds.append(feeds_erasing.Hold(_held, _drop))


def _drop_notifications(about: Q) -> None:
    """Delete the notifications about posts or comments whose rows go."""
    groups = Notification.objects.filter(about).exclude(post_id=0)
    for user_id, kind, subject_id in groups.values_list("user_id", "kind", "subject_id"):
        causes = NotificationCause.objects.filter(user_id=user_id, kind=kind)
        causes.filter(subject_id=subject_id).delete()
    groups.delete()


def _own_polls(user_id: int) -> "QuerySet[Vote]":
    return Vote.objects.filter(post_id__in=_deleted_posts(user_id))


def _own_tallies(user_id: int) -> "QuerySet[Tally]":
    """Return the tallies of the person's polls, once no vote is left."""
    votes = Vote.objects.filter(post_id=OuterRef("pk"))
    return Tally.objects.filter(~Exists(votes), pk__in=_deleted_posts(user_id))


def _deleted_posts(user_id: int) -> Any:
    return feeds_queries.by_author(user_id).filter(is_deleted=True).values("pk")


# --- notifications ------------------------------------------------------------------------------
def _causes_by(user_id: int) -> "QuerySet[NotificationCause]":
    return NotificationCause.objects.filter(actor_id=user_id)


def _erase_causes(user_id: int, limit: int) -> int:
    """Take the person out of the notifications of others, then delete the causes."""
    found = list(_causes_by(user_id).values_list("pk", "user_id")[:limit])
    if found:
        _end_causes([pk for pk, _ in found])
        for reader_id in {reader for _, reader in found}:
            fold.fold(reader_id)
        # One that another process folds at this moment is left to the next call.
        gone = NotificationCause.objects.filter(pk__in=[pk for pk, _ in found])
        _delete_folded(gone)
    return len(found)


@db.atomic
def _end_causes(idents: Collection[int]) -> None:
    causes = NotificationCause.objects.filter(Q(stands=True) | Q(shown=True), pk__in=idents)
    causes.update(stands=False, due=F("user_id"))


@db.atomic
def _delete_folded(causes: "QuerySet[NotificationCause]") -> None:
    """Delete causes that no group counts, and the groups that are empty then."""
    ended = causes.filter(shown=False, stands=False, due=None)
    keys = set(ended.values_list("user_id", "kind", "subject_id"))
    ended.delete()
    for user_id, kind, subject_id in keys:
        group = {"user_id": user_id, "kind": kind, "subject_id": subject_id}
        if not NotificationCause.objects.filter(**group).exists():
            Notification.objects.filter(**group, actor_count=0).delete()


def _about(user_id: int) -> "QuerySet[Notification]":
    """Return what others were told of their reports about the person."""
    return Notification.objects.filter(post_id=0, subject_id=user_id).exclude(user_id=user_id)


def _erase_about(user_id: int, limit: int) -> int:
    found = list(_about(user_id).values_list("pk", "user_id")[:limit])
    case = Case.objects.filter(kind=ReportedKind.USER, subject_id=user_id)
    reporters = Report.objects.filter(case__in=case).values("reporter_id")
    causes = NotificationCause.objects.filter(subject_id=user_id, post_id=0)
    causes.filter(user_id__in=reporters).delete()
    Notification.objects.filter(pk__in=[pk for pk, _ in found]).delete()
    cache.invalidate_unread({reader for _, reader in found})
    return len(found)


def _groups(user_id: int) -> "QuerySet[Notification]":
    return Notification.objects.filter(user_id=user_id)


def _causes_for(user_id: int) -> "QuerySet[NotificationCause]":
    return NotificationCause.objects.filter(user_id=user_id)


# --- reports ------------------------------------------------------------------------------------
def _open_cases(user_id: int) -> "QuerySet[Case]":
    return Case.objects.filter(owner_id=user_id, open_count__gt=0)


def _close_case(user_id: int, case_id: int) -> None:
    actions.close_erased(case_id)


def _reports(user_id: int) -> "QuerySet[Report]":
    """Return the reports by the person, and about the person, that have words."""
    mine = Q(reporter_id=user_id) | Q(case__in=Case.objects.filter(owner_id=user_id))
    return Report.objects.filter(mine).exclude(words="")


def _notes(user_id: int) -> "QuerySet[CaseNote]":
    return CaseNote.objects.filter(case__in=Case.objects.filter(owner_id=user_id))


def _assigned(user_id: int) -> "QuerySet[Case]":
    return Case.objects.filter(assignee_id=user_id, open_count__gt=0)


register(
    one_by_one("comments", Stage.SHOWN, _live_comments, _delete_comment),
    one_by_one("likes", Stage.SHOWN, _likes, _unlike),
    one_by_one("bookmarks", Stage.SHOWN, _bookmarks, _unbookmark),
    one_by_one("votes", Stage.SHOWN, _votes, actions.withdraw_vote),
    one_by_one("open cases", Stage.SHOWN, _open_cases, _close_case),
    cleared("cases to work on", Stage.SHOWN, _assigned, assignee=None),
    Eraser("notifications of others", Stage.ROWS, _erase_causes, counted(_causes_by)),
    Eraser("notifications of reports", Stage.ROWS, _erase_about, counted(_about)),
    rows("causes of notifications", Stage.ROWS, _causes_for),
    rows("notifications", Stage.ROWS, _groups),
    rows(
        "reader of notifications",
        Stage.ROWS,
        lambda user_id: NotificationReader.objects.filter(pk=user_id),
    ),
    rows("votes in own polls", Stage.ROWS, _own_polls),
    rows("tallies of own polls", Stage.ROWS, _own_tallies),
    cleared("words of comments", Stage.ROWS, _written, content="", version=1, edited_at=None),
    Eraser("comments without answers", Stage.ROWS, _erase_comments, lambda user_id: 0),
    cleared("words of reports", Stage.ROWS, _reports, words=""),
    rows("notes about cases", Stage.ROWS, _notes),
    erased={
        "interactions.Like.user": "likes",
        "interactions.Bookmark.user": "bookmarks",
        "interactions.Vote.user": "votes",
        "interactions.NotificationCause.actor": "notifications of others",
        "interactions.NotificationCause.user": "causes of notifications",
        "interactions.NotificationCause.due": "causes of notifications",
        "interactions.NotificationCause.subject_id": "notifications of reports",
        "interactions.Notification.user": "notifications",
        "interactions.Notification.newest": "notifications of others",
        "interactions.Notification.subject_id": "notifications of reports",
        "interactions.NotificationReader.user": "reader of notifications",
    },
    kept={
        "interactions.Comment.author": "an empty comment with answers, likes or a report",
        "interactions.Case.owner": "what staff decided, without words",
        "interactions.Case.subject_id": "what staff decided, without words",
        "interactions.Case.closed_by": "a decision of the person as staff",
        "interactions.Case.assignee": "a closed case of the person as staff",
        "interactions.CaseNote.author": "a note of the person as staff, for other staff",
        "interactions.Report.reporter": "counted in its case, without words",
    },
    texts=(
        "interactions.CommentContent.content",
        "interactions.Report.words",
        "interactions.CaseNote.words",
    ),
)
