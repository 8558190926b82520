"""Like and take the like back, of posts and comments.

A count moves in the transaction of its row, and only when the row was really written (T52): the
subject's for a post, the comment's own for a comment, which has no subject row.
"""

from typing import TYPE_CHECKING

from feeds import queries as feeds
from interactions import cache, queries
from interactions.actions.subjects import locked_subject
from interactions.events import Liked, Unliked
from interactions.models import Comment, Like, SubjectType
from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def like(user: "User", subj_type: int, subj_id: int) -> int:
    """Like a post or a comment; returns its number of likes. A repeat changes nothing (T52).

    Emits Liked. Raises NotFound when the person may not see it.
    """
    return _set_like(user, SubjectType(subj_type), subj_id, liked=True)


@db.atomic
def unlike(user: "User", subj_type: int, subj_id: int) -> int:
    """Take a like back; returns the number of likes. A repeat changes nothing (T52).

    Emits Unliked. Raises NotFound when the person may not see it.
    """
    return _set_like(user, SubjectType(subj_type), subj_id, liked=False)


def _set_like(user: "User", subj_type: SubjectType, subj_id: int, *, liked: bool) -> int:
    now = db.now_ms()
    if subj_type == SubjectType.POST:
        return _set_post_like(user, subj_id, liked, now)
    return _set_comment_like(user, subj_id, liked, now)


def _set_post_like(user: "User", post_id: int, liked: bool, now: int) -> int:
    feeds.visible_post(user, post_id)
    subject = locked_subject(post_id)
    moved = _write_like(user, SubjectType.POST, post_id, liked, now)
    if moved:
        subject.like_count += moved
        subject.save(update_fields=["like_count", "updated_at"])
        cache.post_changed(post_id, user.pk)
    return subject.like_count


def _set_comment_like(user: "User", comment_id: int, liked: bool, now: int) -> int:
    _seen, post = queries.visible_comment(user, comment_id)
    comment = Comment.objects.select_for_update().get(pk=comment_id)
    if comment.deleted:
        raise NotFound
    moved = _write_like(user, SubjectType.COMMENT, comment_id, liked, now)
    if moved:
        comment.like_count += moved
        if post.author_id == user.pk:
            bit = Comment.Attr.AUTHOR_LIKED
            comment.attrs = comment.attrs | bit if liked else comment.attrs & ~bit
        comment.save(update_fields=["like_count", "attrs"])
    return comment.like_count


def _write_like(user: "User", subj_type: SubjectType, subj_id: int, liked: bool, now: int) -> int:
    """Make the row be or not be, under the lock of what it counts for; returns the difference."""
    row = Like.objects.filter(subj_type=subj_type, subj_id=subj_id, user_id=user.pk).first()
    if (row is not None) == liked:
        return 0
    if row is None:
        row = Like.objects.create(
            subj_type=subj_type, subj_id=subj_id, user_id=user.pk, created_at=now
        )
    else:
        Like.objects.filter(pk=row.pk).delete()
    told = Liked if liked else Unliked
    publish(told(id=row.pk, subj_type=subj_type, subj_id=subj_id, user_id=user.pk))
    return 1 if liked else -1
