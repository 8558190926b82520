"""Like and unlike posts and comments.

A like changes the count only if its row was really written, as `counts` says. The changes of a
comment are folded with each like unless another transaction locks its row, because the sort order
`hot` uses the kept count.
"""

from typing import TYPE_CHECKING

from django.db.models import F

from feeds import queries as feeds_queries
from interactions import cache, queries
from interactions.actions.counts import change_count, fold_counts, read_count, set_row
from interactions.events import Liked, Unliked
from interactions.models import Comment, Counted, Like, SubjectType
from socialsite.core import db
from socialsite.core.errors import NotFound
from socialsite.core.events import publish

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def like(user: "User", subj_type: int, subj_id: int) -> int:
    """Like a post or a comment; return its number of likes. A repeat changes nothing.

    Publishes Liked. Raises NotFound if the person may not see it.
    """
    return _set_like(user, SubjectType(subj_type), subj_id, liked=True)


@db.atomic
def unlike(user: "User", subj_type: int, subj_id: int) -> int:
    """Remove a like; return the number of likes. A repeat changes nothing.

    A like can also be removed after its subject became hidden from the person; the number is 0
    then. Publishes Unliked. Raises NotFound if the subject is hidden and there is no like.
    """
    return _set_like(user, SubjectType(subj_type), subj_id, liked=False)


def _set_like(user: "User", subj_type: SubjectType, subj_id: int, *, liked: bool) -> int:
    key = {"subj_type": subj_type, "subj_id": subj_id, "user_id": user.pk}
    own, shown = Like.objects.filter(**key), True
    try:
        thread, by_author = _place(user, subj_type, subj_id)
    except NotFound:
        found = None if liked else own.first()
        if found is None:
            raise
        thread, by_author, shown = found.thread, _is_below_own(user, subj_type, subj_id), False
    row = set_row(Like(**key, thread=thread, created_at=db.now_ms()), own, wanted=liked)
    if row is not None:
        change_count(Counted.LIKE, subj_type, subj_id, 1 if liked else -1)
        publish((Liked if liked else Unliked)(id=row.pk, **key))
        if by_author:
            _set_author_liked(subj_id, liked)
        if subj_type == SubjectType.POST:
            cache.post_changed(subj_id, user.pk)
        else:
            cache.liked_changed(user.pk, thread)
            fold_counts(subj_type, subj_id, wait=False)
    count = read_count(Counted.LIKE, subj_type, subj_id)
    return count if shown else 0


def _place(user: "User", subj_type: SubjectType, subj_id: int) -> tuple[int, bool]:
    """Return the thread of a comment, and whether it is below the person's own post."""
    if subj_type == SubjectType.POST:
        feeds_queries.visible_post(user, subj_id)
        return 0, False
    comment, post = queries.visible_comment(user, subj_id)
    if comment.deleted:
        raise NotFound
    return comment.subject_id, post.author_id == user.pk


def _is_below_own(user: "User", subj_type: SubjectType, subj_id: int) -> bool:
    """Return whether a comment is below the person's own post, hidden or not."""
    if subj_type == SubjectType.POST:
        return False
    posts = Comment.objects.filter(pk=subj_id).values("subject__subj_id")
    return feeds_queries.by_author(user.pk).filter(pk__in=posts).exists()


def _set_author_liked(comment_id: int, liked: bool) -> None:
    """Set or clear the bit of the author's like; other bits stay, also with concurrent writers."""
    bit, bits = Comment.Attr.AUTHOR_LIKED, F("attrs")
    rest = sum(Comment.Attr) - bit
    attrs = bits.bitor(bit) if liked else bits.bitand(rest)
    Comment.objects.filter(pk=comment_id, deleted=False).update(attrs=attrs)
