"""Which comments a reader likes."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from interactions import cache
from interactions.models import Comment, Like, SubjectType
from socialsite.core.prepared import prepared
from socialsite.core.redis import Batch


@prepared
def _liked_of(ids: Iterable[int], user_id: int) -> "QuerySet[Like, Any]":
    rows = Like.objects.filter(subj_type=SubjectType.COMMENT, subj_id__in=ids, user_id=user_id)
    return rows.values_list("subj_id", flat=True)


class LikedComments:
    """Which comments of one thread the reader likes: `ask` in a batch, `found` when it has run.

    A guest likes nothing. What no cache knows is read in one query, two while the cache is empty
    and the reader likes more in this thread than it holds.
    """

    def __init__(self, viewer_id: int | None, thread: int, ids: Sequence[int]) -> None:
        self._me, self._thread, self._ids = viewer_id, thread, ids
        self._asked: cache.AskedLiked | None = None

    def ask(self, batch: Batch) -> None:
        """Add the read to a batch: one command, none for a guest."""
        if self._me is not None and self._ids:
            self._asked = cache.ask_liked(batch, self._me, self._thread, self._ids)

    def found(self) -> set[int]:
        """Return the ids of those that the reader likes."""
        if self._me is None or not self._ids:
            return set()
        known = None if self._asked is None else self._asked.found
        if known is None:
            most_liked = partial(_most_liked, self._me, self._thread)
            known = cache.load_liked(self._me, self._thread, self._ids, most_liked)
        unknown = [ident for ident in self._ids if ident not in known]
        liked = {ident for ident, likes in known.items() if likes}
        if unknown:
            liked.update(_liked_of(unknown, self._me))
        return liked


def _most_liked(user_id: int, thread: int, limit: int) -> list[cache.LikedRow]:
    return [cache.LikedRow(*row) for row in _liked_in(user_id, thread, limit=limit)]


@prepared
def _liked_in(user_id: int, thread: int, *, limit: int) -> "QuerySet[Like, Any]":
    # By the id of the comment, as a like knows no foreign key of what it is of.
    likes = Comment.objects.filter(pk=OuterRef("subj_id")).values("like_count")
    rows = Like.objects.filter(user_id=user_id, thread=thread)
    rows = rows.annotate(kept=Coalesce(Subquery(likes), 0)).order_by("-kept", "-subj_id")
    return rows.values_list("kept", "subj_id", "pk")[:limit]
