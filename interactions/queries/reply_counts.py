"""Counts the replies that a reader sees below comments, without reading the replies.

The stored count includes all live replies. Two numbers are subtracted: replies by banned or closed
accounts, which are the same for every reader and cached with the `STANDING` token; and replies by
people with a block in either direction, found from these few people. In a featured thread the
visible replies are counted instead.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Count, Q

from interactions import cache
from interactions.models import Comment
from interactions.queries.threads import Row, Thread
from interactions.visibility import by_shown_authors
from relations import queries as relations_queries
from socialsite.core.cache.reads import Numbers
from socialsite.core.db.compiled import UnionRead


class ReplyCounts(Numbers):
    """Live replies that a reader may see, by comment; comments without replies are missing.

    For a root its whole thread counts, for a reply its direct replies; `rows` are all of one kind.
    """

    cache = cache.GONE

    def __init__(self, viewer_id: int | None, thread: Thread, rows: Sequence[Row]) -> None:
        self._me, self._thread = viewer_id, thread
        self._kept = {row["id"]: row["reply_count"] for row in rows if row["reply_count"]}
        are_roots = bool(rows) and rows[0]["root_id"] is None
        self._field = "root_id" if are_roots else "parent_id"
        self._picked: dict[int, int] = {}
        self._blocked: dict[int, int] = {}
        super().__init__(self._kept if thread.writers is None else ())

    @property
    def is_cached(self) -> bool:
        needs_no_query = self._me is None and self._thread.writers is None
        return super().is_cached and (needs_no_query or not self._kept)

    def query(self, union: UnionRead) -> None:
        """Count replies that are not cached, and those of this reader's blocks."""
        super().query(union)
        if self._thread.writers is not None:
            self._picked = self._count_picked(self._thread.writers)
        elif self._me is not None:
            self._blocked = self._count_blocked(self._me)

    @property
    def value(self) -> dict[int, int]:
        if self._thread.writers is not None:
            return self._picked
        gone, blocked = self.known, self._blocked
        return {
            ident: max(0, kept - gone.get(ident, 0) - blocked.get(ident, 0))
            for ident, kept in self._kept.items()
        }

    def _live(self, ids: Collection[int]) -> Any:
        rows = Comment.objects.filter(deleted=False, **{f"{self._field}__in": list(ids)})
        return rows.filter(subject_id=self._thread.subject_id).order_by()

    def _count(self, rows: Any) -> dict[int, int]:
        return dict(rows.values_list(self._field).annotate(count=Count("pk")))

    def _count_picked(self, writers: Collection[int]) -> dict[int, int]:
        live = self._live(self._kept)
        shown = by_shown_authors(self._me).values("pk")
        found: dict[int, int] = {}
        for some in (Q(pk__in=self._thread.pins), Q(author_id__in=writers)):
            rows = live.filter(some).filter(pk__in=shown)
            found |= dict(rows.values_list("pk", self._field))
        return dict(Counter(found.values()))

    def _count_blocked(self, me: int) -> dict[int, int]:
        rows = self._live(self._kept).filter(author_id__in=relations_queries.blocked_ids(me))
        return self._count(rows.filter(author__banned_at=None, author__deleted_at=None))

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        """Count live replies by banned or closed accounts, in their cached form."""
        closed = Q(author__banned_at__isnull=False) | Q(author__deleted_at__isnull=False)
        counts = self._count(self._live(idents).filter(closed))
        return {ident: b"%d" % counts.get(ident, 0) for ident in idents}
