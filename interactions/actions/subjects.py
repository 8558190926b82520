"""The subject rows of posts: made on first use, locked by whoever moves their counts."""

from interactions.models import Subject, SubjectType
from socialsite.core import db


def ensure_subject(post_id: int) -> None:
    """Make the subject of a post unless it is there; holds it until the transaction ends."""
    db.ensure(Subject(subj_type=SubjectType.POST, subj_id=post_id))


def locked_subject(post_id: int) -> Subject:
    """Return the subject of a post under its lock, made on first use."""
    locked = Subject.objects.select_for_update()
    found = locked.filter(subj_type=SubjectType.POST, subj_id=post_id).first()
    if found is None:
        ensure_subject(post_id)
        found = locked.get(subj_type=SubjectType.POST, subj_id=post_id)
    return found


def mark_post_deleted(post_id: int) -> None:
    """Let nobody comment any more on a post that was deleted."""
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    subjects.update(status=Subject.Status.DELETED)
