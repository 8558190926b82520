"""The only visibility check for comments (T42): `visible_to`."""

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from feeds import queries as feeds_queries
from interactions.models import Comment, Subject
from relations import queries as relations_queries

PICKED = Comment.Attr.PINNED | Comment.Attr.BY_AUTHOR


def by_shown_authors(viewer_id: int | None) -> "QuerySet[Comment]":
    """Return comments, deleted ones too, by authors whom the reader may see.

    Excludes authors who are banned or closed, and those with a block in either direction. Deleted
    comments of closed accounts are included: others may have answered them.
    """
    open_or_gone = Q(author__deleted_at__isnull=True) | Q(deleted=True)
    comments = Comment.objects.filter(open_or_gone, author__banned_at__isnull=True)
    if viewer_id is None:
        return comments
    return comments.exclude(author_id__in=relations_queries.blocked_ids(viewer_id))


def shown_to(viewer_id: int | None) -> "QuerySet[Comment]":
    """Return the same without comments that the author of a featured post did not feature.

    Featured are comments that the author pinned or wrote. Everybody also sees their own comments,
    with the comment that they belong to; otherwise they would lose sight of their own replies. The
    author sees all.
    """
    shown = by_shown_authors(viewer_id)
    everywhere = ~Q(subject__status=Subject.Status.FEATURED)
    if viewer_id is None:
        return shown.alias(picks=F("attrs").bitand(PICKED)).filter(everywhere | Q(picks__gt=0))
    own_post = feeds_queries.by_author(viewer_id).filter(pk=OuterRef("subject__subj_id"))
    below = own_replies(viewer_id).filter(subject_id=OuterRef("subject_id"), root_id=OuterRef("pk"))
    own = Q(author_id=viewer_id) | Q(root__isnull=True, answered__isnull=False)
    return shown.alias(
        picks=F("attrs").bitand(PICKED), answered=Subquery(below.values("pk")[:1])
    ).filter(everywhere | Q(picks__gt=0) | own | Exists(own_post))


def own_replies(viewer_id: int) -> "QuerySet[Comment]":
    """Return a person's live replies to comments."""
    return Comment.objects.filter(author_id=viewer_id, root__isnull=False, deleted=False)


def visible_to(viewer_id: int | None) -> "QuerySet[Comment]":
    """Return live comments and tombstones that a reader of their post may see.

    A tombstone is shown only while the reader sees a reply below it (T54). The subqueries select a
    value instead of using EXISTS, for which MariaDB would read the replies of all subjects.
    """
    shown = shown_to(viewer_id)
    replies = shown.filter(subject_id=OuterRef("subject_id"), deleted=False).values("pk")
    of_root = replies.filter(root_id=OuterRef("pk"))
    of_reply = replies.filter(parent_id=OuterRef("pk"))
    in_thread = Q(root__isnull=True) & Q(in_thread__isnull=False)
    answered = Q(root__isnull=False) & Q(answer__isnull=False)
    return shown.alias(in_thread=Subquery(of_root[:1]), answer=Subquery(of_reply[:1])).filter(
        Q(deleted=False) | (Q(reply_count__gt=0) & (in_thread | answered))
    )
