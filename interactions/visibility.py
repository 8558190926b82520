"""The one gate before every comment that anybody is shown or may touch (T42): `visible_to`."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from interactions.models import Comment
from relations import queries as relations


def by_shown_authors(viewer_id: int | None) -> "QuerySet[Comment]":
    """Return comments, deleted ones too, by authors whom the reader may see.

    Left out are people who are banned or gone, and those with a block either way.
    """
    comments = Comment.objects.filter(
        author__banned_at__isnull=True, author__deleted_at__isnull=True
    )
    if viewer_id is None:
        return comments
    return comments.exclude(author_id__in=relations.blocked_ids(viewer_id))


def visible_to(viewer_id: int | None) -> "QuerySet[Comment]":
    """Return live comments and tombstones that a reader of their post may see.

    A tombstone shows only while the reader sees a reply that hangs from it (T54).
    """
    shown = by_shown_authors(viewer_id)
    replies = shown.filter(subject_id=OuterRef("subject_id"), deleted=False)
    in_thread = Q(root__isnull=True) & Exists(replies.filter(root_id=OuterRef("pk")))
    answered = Q(root__isnull=False) & Exists(
        replies.filter(root_id=OuterRef("root_id"), parent_id=OuterRef("pk"))
    )
    return shown.filter(Q(deleted=False) | Q(in_thread | answered, reply_count__gt=0))
