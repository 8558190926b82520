"""Reads which comments a reader likes."""

from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from interactions import cache
from interactions.models import Comment, Like, SubjectType
from socialsite.core.db.compiled import UnionRead, compiled


@compiled
def _liked_of(ids: Iterable[int], user_id: int) -> "QuerySet[Like, Any]":
    rows = Like.objects.filter(subj_type=SubjectType.COMMENT, subj_id__in=ids, user_id=user_id)
    return rows.values_list("subj_id", flat=True)


class LikedComments(cache.Marked[bool]):
    """The comments of one thread that the reader likes; none for a guest.

    Missing values are read in one query; in two while the cache is empty and the reader likes more
    comments of the thread than fit in it.
    """

    def __init__(self, viewer_id: int | None, thread: int, ids: Collection[int]) -> None:
        self._me, self._thread = viewer_id or 0, thread
        self._others: set[int] = set()
        super().__init__(cache.liked(self._me, thread), () if viewer_id is None else ids)

    def read(self) -> cache.Fields:
        rows = _liked_in(self._me, self._thread, limit=cache.LIKED_MAX + 1)
        return cache.pack_liked([cache.LikedRow(*row) for row in rows])

    def query(self, union: UnionRead) -> None:
        """Read the likes that fit in the cache, then the remaining ids."""
        super().query(union)
        if self.missing:
            self._others.update(_liked_of(self.missing, self._me))

    @property
    def value(self) -> set[int]:
        """The ids of the comments that the reader likes."""
        return self._others.union(ident for ident, likes in self.known.items() if likes)


@compiled
def _liked_in(user_id: int, thread: int, *, limit: int) -> "QuerySet[Like, Any]":
    # Joined by id: a like has no foreign key to its comment.
    likes = Comment.objects.filter(pk=OuterRef("subj_id")).values("like_count")
    rows = Like.objects.filter(user_id=user_id, thread=thread)
    rows = rows.annotate(kept=Coalesce(Subquery(likes), 0)).order_by("-kept", "-subj_id")
    return rows.values_list("kept", "subj_id", "pk")[:limit]
