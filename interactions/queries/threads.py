"""Reads places of comments in a thread, and their rows that a reader may see.

- A list of comments is read in two steps: places of the thread from the index alone, then the rows
  of those that the reader may see; hidden ones are replaced until the page is full. In one step,
  MariaDB would join every comment above the cursor before it drops it (in the middle of 50,000
  comments: 80 ms instead of 2).
- Pinned comments come first. Their places are raised by PINNED, so one order and one cursor work
  for both parts. The second part skips them, so no comment appears twice.
- In a featured thread (A36) only candidates are read, however long it is: pinned comments; comments
  of its author and of the reader, by an index; comments that the reader replied to.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Q, QuerySet

from interactions.models import Comment, Counted, SubjectType
from interactions.queries.counts import number_of
from interactions.visibility import shown_to, visible_to
from socialsite.core.db import page_filling
from socialsite.core.db.compiled import compiled
from socialsite.core.positions import Page, Position, before

Sort = Literal["new", "hot"]
Order = Literal["new", "hot", "old"]
Row = dict[str, Any]

# Additional places per page: with few hidden comments, one round is enough.
SPARE = 5
# Above every time in ms and every number of likes, below the maximum of a cursor.
PINNED = 2**52

_COLUMNS = (
    "id",
    "root_id",
    "parent_id",
    "author_id",
    "position",
    "likes",
    "reply_count",
    "deleted",
    "attrs",
    "content_row__content",
    "content_row__version",
    "content_row__edited_at",
)


def visible_rows(viewer_id: int | None, ids: Collection[int]) -> list[Row]:
    """Return the rows of those comments that the reader may see, in no order.

    Which tombstones are shown is asked only when there are some: MariaDB takes longer to read that
    statement than to run the other.
    """
    found = [dict(zip(_COLUMNS, row, strict=True)) for row in _rows(viewer_id, ids)]
    shown = set(_shown(viewer_id, [row["id"] for row in found if row["deleted"]]))
    return [row for row in found if not row["deleted"] or row["id"] in shown]


@compiled
def _rows(viewer_id: int | None, ids: Collection[int]) -> "QuerySet[Comment, Any]":
    likes = number_of(Counted.LIKE, SubjectType.COMMENT, "id")
    found = shown_to(viewer_id).filter(Q(deleted=False) | Q(reply_count__gt=0), pk__in=ids)
    return found.annotate(likes=likes).values_list(*_COLUMNS)


@compiled
def _shown(viewer_id: int | None, ids: Collection[int]) -> "QuerySet[Comment, int]":
    return visible_to(viewer_id).filter(pk__in=ids).values_list("pk", flat=True)


@dataclass(frozen=True, slots=True)
class Thread:
    """The comments on a subject itself (`root_id` None), or the replies below a root, in an order.

    `new` and `old` are by (position, id), `hot` is by (like_count, id). With `answers_to` only the
    replies that answer that reply are listed. `pins` are the pinned comments of the subject;
    for a featured one, `writers` are the people whose other comments may show, and `answered` the
    comments that the reader replied to.
    """

    subject_id: int
    root_id: int | None
    order: Order
    pins: tuple[int, ...] = ()
    writers: tuple[int, ...] | None = None
    answers_to: int | None = None
    answered: tuple[int, ...] = ()

    def pinned(self, viewer_id: int | None, after: Position | None) -> list[tuple[Position, Row]]:
        """Return the pinned comments on the subject itself after a place, in order."""
        if self.order == "old" or not self.pins or (after is not None and after.ts_ms < PINNED):
            return []
        found = []
        for row in visible_rows(viewer_id, self.pins):
            if row["root_id"] is not None:
                continue
            key = row["likes"] if self.order == "hot" else row["position"]
            found.append((Position(PINNED + key, row["id"]), row))
        return sorted(
            (one for one in found if after is None or one[0] < after),
            key=lambda one: one[0],
            reverse=True,
        )

    def places(self, after: Position | None, limit: int) -> list[Position]:
        """Return the next places in order, including hidden comments."""
        rows = Comment.objects.filter(subject_id=self.subject_id, root_id=self.root_id)
        if self.answers_to is not None:
            # Uses the index of direct replies, which are all in one thread.
            rows = Comment.objects.filter(parent_id=self.answers_to)
        if self.writers is None:
            if after is None and self.answers_to is None:
                first = _first_places(self.subject_id, self.root_id, order=self.order, limit=limit)
                return [Position(*row) for row in first]
            return self._next(rows, after, limit)
        named = (*self.pins, *self.answered)
        found = self._next(rows.filter(pk__in=named), after, limit) if named else []
        written = self._next(rows.filter(author_id__in=self.writers), after, limit)
        return sorted({*found, *written}, reverse=self.order != "old")[:limit]

    def _next(
        self, rows: "QuerySet[Comment]", after: Position | None, limit: int
    ) -> list[Position]:
        found = _places(rows.filter(self._beyond(after)), self.order, limit)
        return [Position(*row) for row in found]

    def _beyond(self, place: Position | None) -> Q:
        if place is None:
            return Q()
        if self.order == "new":
            return before(place)
        if self.order == "old":
            newer = Q(position__gt=place.ts_ms) | Q(id__gt=place.id)
            return Q(position__gte=place.ts_ms) & newer
        # Two index ranges instead of the one of `before`: thousands of comments have the same
        # number of likes, mostly none.
        return Q(like_count__lt=place.ts_ms) | Q(like_count=place.ts_ms, id__lt=place.id)

    def rows(self, viewer_id: int | None, idents: Sequence[int]) -> dict[int, Row]:
        """Return the rows of the comments that the reader may see, by id."""
        skipped = set() if self.order == "old" else set(self.pins)
        ids = [ident for ident in idents if ident not in skipped]
        return {row["id"]: row for row in visible_rows(viewer_id, ids)}


@compiled
def _first_places(
    subject_id: int, root_id: int | None, *, order: Order, limit: int
) -> "QuerySet[Comment, Any]":
    return _places(Comment.objects.filter(subject_id=subject_id, root_id=root_id), order, limit)


def _places(rows: "QuerySet[Comment]", order: Order, limit: int) -> "QuerySet[Comment, Any]":
    """Return the key of the order and the id of the first rows."""
    key, sign = "like_count" if order == "hot" else "position", "" if order == "old" else "-"
    return rows.order_by(f"{sign}{key}", f"{sign}id").values_list(key, "id")[:limit]


def page_of(viewer_id: int | None, thread: Thread, cursor: Position | None, size: int) -> Page[Row]:
    """Return one page of the comments of a thread that the reader may see.

    It is full, or the thread ends with it, but for what `refill.fill` says.
    """
    pinned = thread.pinned(viewer_id, cursor)
    if cursor is not None and cursor.ts_ms >= PINNED and thread.order != "old":
        cursor = None
    want = size + 1 + SPARE
    runs = page_filling.walk(thread.places, cursor, want)
    return page_filling.fill(
        lambda ids, most: thread.rows(viewer_id, ids), runs, size, head=pinned, first=want
    )
