"""How many replies a reader sees below comments, without reading the replies.

The kept count has all live replies. Taken off are those by people who are banned or gone, the same
for everybody and cached with the token of who is (`STANDING`), and those by people with a block
either way, found from the few such people. Of a featured thread what may show is counted.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Count, Q

from accounts import queries as accounts
from interactions import cache
from interactions.models import Comment
from interactions.queries.threads import Row, Thread
from interactions.visibility import by_shown_authors
from relations import queries as relations
from socialsite.core import redis
from socialsite.core.leased import Asked
from socialsite.core.redis import Batch

# Between the token and the number.
_AFTER = b":"


class ReplyCounts:
    """Live replies that a reader sees: `ask` in a batch, `found` when it has run.

    Of a root those of its whole thread, of a reply its direct answers; `rows` are either.
    """

    def __init__(self, viewer_id: int | None, thread: Thread, rows: Sequence[Row]) -> None:
        self._me, self._thread = viewer_id, thread
        self._kept = {row["id"]: row["reply_count"] for row in rows if row["reply_count"]}
        are_roots = bool(rows) and rows[0]["root_id"] is None
        self._field = "root_id" if are_roots else "parent_id"
        self._standing: redis.Promise[bytes | None] = redis.Promise()
        self._gone: Asked | None = None

    def ask(self, batch: Batch) -> None:
        """Add the reads to a batch, where there is anything to count."""
        if self._kept and self._thread.writers is None:
            self._standing = accounts.STANDING.ask(batch)
            self._gone = cache.GONE.ask(batch, list(self._kept))

    def found(self) -> dict[int, int]:
        """Return comment → number; comments without replies are missing."""
        if not self._kept:
            return {}
        if self._thread.writers is not None:
            return self._picked()
        gone, blocked = self._by_closed_accounts(), self._by_blocked()
        return {
            ident: max(0, kept - gone.get(ident, 0) - blocked.get(ident, 0))
            for ident, kept in self._kept.items()
        }

    def _live(self, ids: Collection[int]) -> Any:
        rows = Comment.objects.filter(deleted=False, **{f"{self._field}__in": list(ids)})
        return rows.filter(subject_id=self._thread.subject_id).order_by()

    def _count(self, rows: Any) -> dict[int, int]:
        return dict(rows.values_list(self._field).annotate(count=Count("pk")))

    def _picked(self) -> dict[int, int]:
        live = self._live(self._kept)
        shown = by_shown_authors(self._me).values("pk")
        found: dict[int, int] = {}
        for some in (Q(pk__in=self._thread.pins), Q(author_id__in=self._thread.writers or ())):
            rows = live.filter(some).filter(pk__in=shown)
            found |= dict(rows.values_list("pk", self._field))
        return dict(Counter(found.values()))

    def _by_blocked(self) -> dict[int, int]:
        if self._me is None:
            return {}
        rows = self._live(self._kept).filter(author_id__in=relations.blocked_ids(self._me))
        return self._count(rows.filter(author__banned_at=None, author__deleted_at=None))

    # --- people who are banned or gone ------------------------------------------------------------
    def _by_closed_accounts(self) -> dict[int, int]:
        try:
            # A token from before the database is read: a later ban makes the answer stale.
            standing = self._standing.value or accounts.STANDING.start()
        except redis.RedisDown:
            standing = None
        if standing is None:
            return self._read(self._kept)
        token = standing + _AFTER
        cached = {} if self._gone is None else self._gone.found
        found = {
            ident: int(value[len(token) :])
            for ident, value in cached.items()
            if value.startswith(token)
        }
        stale = [ident for ident in cached if ident not in found]
        cache.GONE.forget(stale)
        missing = [ident for ident in self._kept if ident not in found]
        packed = cache.GONE.load(missing, lambda ids: self._packed(ids, token))
        return found | {ident: int(value[len(token) :]) for ident, value in packed.items()}

    def _packed(self, ids: Collection[int], token: bytes) -> dict[int, bytes]:
        counts = self._read(ids)
        return {ident: b"%b%d" % (token, counts.get(ident, 0)) for ident in ids}

    def _read(self, ids: Collection[int]) -> dict[int, int]:
        closed = Q(author__banned_at__isnull=False) | Q(author__deleted_at__isnull=False)
        return self._count(self._live(ids).filter(closed))
