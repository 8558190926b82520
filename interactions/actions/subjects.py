"""The subject rows of posts: created on first use, locked while their counts change."""

from interactions.models import Subject, SubjectType
from socialsite.core import db


def ensure_subject(post_id: int) -> None:
    """Create the subject of a post if missing; lock it until the transaction ends."""
    db.ensure(Subject(subj_type=SubjectType.POST, subj_id=post_id))


def locked_subject(post_id: int) -> Subject:
    """Return the subject of a post under its lock, created on first use."""
    locked = Subject.objects.select_for_update()
    found = locked.filter(subj_type=SubjectType.POST, subj_id=post_id).first()
    if found is None:
        ensure_subject(post_id)
        found = locked.get(subj_type=SubjectType.POST, subj_id=post_id)
    return found


def mark_post_deleted(post_id: int) -> None:
    """Close the comments of a deleted post."""
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    subjects.update(status=Subject.Status.DELETED)
