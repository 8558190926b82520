"""Shared helpers: true counts, and threads as a reader should see them."""

from typing import Any

from accounts.models import User
from feeds.models import Post
from interactions.models import (
    COLUMNS,
    Bookmark,
    Comment,
    CountChange,
    Like,
    Subject,
    SubjectType,
)
from relations.models import BLOCKED, Relationship
from socialsite.core.models import Event


def drift() -> list[tuple[Any, ...]]:
    """Return every counter that differs from its rows: (row, column, kept, true)."""
    found = []

    def compare(row: Any, column: str, true: int) -> None:
        if getattr(row, column) != true:
            found.append((row, column, getattr(row, column), true))

    def add_pending(row: Any, subj_type: int, subj_id: int) -> None:
        rows = CountChange.objects.filter(subj_type=subj_type, subj_id=subj_id)
        for counted, by in rows.values_list("counted", "by"):
            column = COLUMNS[counted]
            setattr(row, column, getattr(row, column) + by)

    for subject in Subject.objects.all():
        add_pending(subject, subject.subj_type, subject.subj_id)
        likes = Like.objects.filter(subj_type=subject.subj_type, subj_id=subject.subj_id)
        compare(subject, "like_count", likes.count())
        live = Comment.objects.filter(subject=subject, deleted=False)
        compare(subject, "comment_count", live.count())
        kept = Bookmark.objects.filter(post_id=subject.subj_id)
        reposts = Post.objects.filter(ref_post_id=subject.subj_id, is_deleted=False)
        compare(subject, "repost_count", reposts.count() if subject.subj_type == 1 else 0)
        compare(subject, "bookmark_count", kept.count() if subject.subj_type == 1 else 0)
    for comment in Comment.objects.all():
        add_pending(comment, SubjectType.COMMENT, comment.pk)
        likes = Like.objects.filter(subj_type=SubjectType.COMMENT, subj_id=comment.pk)
        compare(comment, "like_count", likes.count())
        below = {"root_id": comment.pk} if comment.root_id is None else {"parent_id": comment.pk}
        compare(comment, "reply_count", Comment.objects.filter(deleted=False, **below).count())
    return found


def pending_events() -> list[str]:
    """Return the types of undelivered events of interactions, in the order written."""
    rows = Event.objects.filter(aggregate_type__in=("like", "comment")).order_by("pk")
    return list(rows.values_list("type", flat=True))


def oracle(viewer: Any, subject_id: int, root_id: int | None = None) -> list[Comment]:
    """Return the visible comments of a subject or replies of a root, newest first.

    Read row by row in Python, from the rules and not from the queries under test.
    """
    people = {user.pk: user for user in User.objects.all()}
    blocked: set[int] = set()
    if viewer is not None:
        rows = Relationship.objects.filter(from_user=viewer.pk)
        blocked = {row.to_user_id for row in rows if row.relation in BLOCKED}
    every = list(Comment.objects.filter(subject_id=subject_id))

    def shown(comment: Comment) -> bool:
        return people[comment.author_id].is_active and comment.author_id not in blocked

    def below(comment: Comment) -> list[Comment]:
        field = "root_id" if comment.root_id is None else "parent_id"
        return [
            other
            for other in every
            if getattr(other, field) == comment.pk and not other.deleted and shown(other)
        ]

    found = [
        comment
        for comment in every
        if comment.root_id == root_id and shown(comment) and (not comment.deleted or below(comment))
    ]
    for comment in found:
        comment.reply_count = len(below(comment))
    return sorted(found, key=lambda comment: (comment.position, comment.pk), reverse=True)
