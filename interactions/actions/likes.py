"""Like and take the like back, of posts and comments.

A like moves the number of likes only when its row was really written (T52). It does so by a row of
its own beside it (`LikeChange`) and not on the row that has the count, which everybody who likes a
viral post would queue for. The changes are folded into the count of the post's subject, or of the
comment, by the event of the like. Before that

- of a post by whoever makes the FOLD_ATth of them, so that there are never many to add up;
- of a comment with each like while nobody else holds its row, as `hot` goes by the kept count.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from feeds import queries as feeds
from interactions import cache, queries
from interactions.actions.subjects import ensure_subject
from interactions.events import Liked, Unliked
from interactions.models import Comment, Like, LikeChange, Subject, SubjectType
from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User

logger = logging.getLogger(__name__)

# Changes of one subject at which whoever likes it folds them, and how many a fold takes at once.
FOLD_AT, FOLD_MAX = 64, 1000


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
    thread, by_author = 0, False
    if subj_type == SubjectType.POST:
        feeds.visible_post(user, subj_id)
    else:
        comment, post = queries.visible_comment(user, subj_id)
        if comment.deleted:
            raise NotFound
        thread, by_author = comment.subject_id, post.author_id == user.pk
    row = Like(
        subj_type=subj_type,
        subj_id=subj_id,
        user_id=user.pk,
        thread=thread,
        created_at=db.now_ms(),
    )
    if _write_like(row, liked):
        if by_author:
            _mark_liked(subj_id, liked)
        if subj_type == SubjectType.POST:
            cache.post_changed(subj_id, user.pk)
        else:
            cache.liked_changed(user.pk, thread)
            fold_likes(subj_type, subj_id, wait=False)
    count, pending = _counted(subj_type, subj_id)
    if pending >= FOLD_AT:
        # Robust: the like is committed, and its event folds as well.
        fold = partial(fold_likes, subj_type, subj_id, wait=False)
        transaction.on_commit(fold, robust=True)
    return count


def _write_like(row: Like, liked: bool) -> bool:
    """Make a like be or not be; True when it was not so before.

    Of several at once for one person the row lets one write and the others wait.
    """
    subj_type, subj_id, user_id = row.subj_type, row.subj_id, row.user_id
    if liked:
        if not db.insert_once(row):
            return False
    else:
        rows = Like.objects.filter(subj_type=subj_type, subj_id=subj_id, user_id=user_id)
        found = rows.first()
        if found is None or not rows.filter(pk=found.pk).delete()[0]:
            return False
        row = found
    LikeChange.objects.create(subj_type=subj_type, subj_id=subj_id, by=1 if liked else -1)
    told = Liked if liked else Unliked
    publish(told(id=row.pk, subj_type=subj_type, subj_id=subj_id, user_id=user_id))
    return True


def _mark_liked(comment_id: int, liked: bool) -> None:
    """Set or clear the bit of the author's like, whatever else is done to the others (T54)."""
    bit, bits = Comment.Attr.AUTHOR_LIKED, F("attrs")
    rest = sum(Comment.Attr) - bit
    attrs = bits.bitor(bit) if liked else bits.bitand(rest)
    Comment.objects.filter(pk=comment_id, deleted=False).update(attrs=attrs)


# --- counts -------------------------------------------------------------------------------------
def _kept(subj_type: SubjectType, subj_id: int) -> "QuerySet[Subject] | QuerySet[Comment]":
    """Return the row that has the count of likes."""
    if subj_type == SubjectType.COMMENT:
        return Comment.objects.filter(pk=subj_id)
    return Subject.objects.filter(subj_type=subj_type, subj_id=subj_id)


def _counted(subj_type: SubjectType, subj_id: int) -> tuple[int, int]:
    """Return the number of likes, and how many changes of it are not folded yet."""
    ident = "pk" if subj_type == SubjectType.COMMENT else "subj_id"
    changes = LikeChange.objects.filter(subj_type=subj_type, subj_id=OuterRef(ident)).order_by()
    number = changes.values("subj_id").annotate(number=Count("pk")).values("number")
    pending = Coalesce(Subquery(number, IntegerField()), 0)
    likes = queries.like_count(subj_type, ident)
    rows = _kept(subj_type, subj_id).annotate(likes=likes, pending=pending)
    found = rows.values_list("likes", "pending").first()
    if found is None:  # the first like of this post, which a fold needs a row for
        ensure_subject(subj_id)
        found = rows.values_list("likes", "pending").get()
    return found


@db.atomic
def fold_likes(subj_type: int, subj_id: int, *, wait: bool = True) -> int:
    """Add the changes of likes that are committed to the count they belong to; returns how many.

    Without `wait` nothing is done while somebody else folds. The count is locked first, so changes
    are folded by one at a time, and they are read without a lock, as of one moment, in the order
    they were written: a person's unlike is never folded before the like that it takes back, so no
    count falls below nothing.
    """
    kept = _kept(SubjectType(subj_type), subj_id)
    locked = kept.select_for_update(skip_locked=not wait)
    count = locked.values_list("like_count", flat=True).first()
    if count is None:
        return 0
    changes = LikeChange.objects.filter(subj_type=subj_type, subj_id=subj_id).order_by("id")
    found = dict(changes.values_list("id", "by")[:FOLD_MAX])
    if found:
        count += sum(found.values())
        if count < 0:  # by what is not ours, a restored table say: nobody is kept from unliking
            logger.error("likes of %s %s would fall to %s", subj_type, subj_id, count)
        kept.update(like_count=max(0, count))
        LikeChange.objects.filter(pk__in=found).delete()
    return len(found)
