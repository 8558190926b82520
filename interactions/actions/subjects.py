"""The subject rows of posts: created on first use, locked while their counts change."""

from django.db.models import QuerySet

from interactions.models import Subject, SubjectType
from socialsite.core import db
from socialsite.core.db.compiled import compiled


def ensure_subject(post_id: int) -> None:
    """Create the subject of a post if missing; lock it until the transaction ends."""
    db.ensure(Subject(subj_type=SubjectType.POST, subj_id=post_id))


def locked_subject(post_id: int) -> Subject:
    """Return the subject of a post under its lock, created on first use."""
    found: list[Subject] = _locked(post_id)
    if not found:
        ensure_subject(post_id)
        found = _locked(post_id)
    return found[0]


@compiled
def _locked(post_id: int) -> "QuerySet[Subject]":
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    return subjects.select_for_update()


def mark_post_deleted(post_id: int) -> None:
    """Close the comments of a deleted post."""
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    subjects.update(status=Subject.Status.DELETED)
