"""The subject rows of posts: created on first use, locked while their counts change.

A subject's status says who may comment; the author of the post sets it.
"""

from typing import TYPE_CHECKING, cast

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from feeds import queries as feeds_queries
from interactions import queries
from interactions.events import CommentSettingsChanged
from interactions.models import Subject, SubjectType
from socialsite.core import db
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import Forbidden, InvalidInput, NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


def ensure_subject(post_id: int) -> None:
    """Create the subject of a post if missing; lock it until the transaction ends."""
    db.ensure(Subject(subj_type=SubjectType.POST, subj_id=post_id))


def locked_subject(post_id: int) -> Subject:
    """Return the subject of a post under its lock, created on first use."""
    found: Subject | None = _locked.first(post_id)
    if found is None:
        ensure_subject(post_id)
        found = cast("Subject", _locked.first(post_id))
    return found


@compiled
def _locked(post_id: int) -> "QuerySet[Subject]":
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    return subjects.select_for_update()


def mark_post_deleted(post_id: int) -> None:
    """Close the comments of a deleted post."""
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    subjects.update(status=Subject.Status.DELETED)


@db.atomic
def set_comment_status(user: "User", post_id: int, status: str) -> str:
    """Open, close or feature the comments on one's post; return the status.

    Publishes CommentSettingsChanged if it changed. Raises NotFound if the person may not see the
    post, Forbidden if it is not theirs, InvalidInput (`status`).
    """
    post = feeds_queries.visible_post(user, post_id)
    if post.author_id != user.pk:
        raise Forbidden
    wanted = queries.STATUSES.get(status)
    if wanted is None:
        raise InvalidInput(fields={"status": [_("Must be open, closed or featured.")]})
    subject = locked_subject(post_id)
    if subject.status == Subject.Status.DELETED:
        raise NotFound
    if subject.status != wanted:
        subject.status = wanted
        subject.save(update_fields=["status", "updated_at"])
        publish(CommentSettingsChanged(post_id=post_id, user_id=user.pk, status=status))
    return status
