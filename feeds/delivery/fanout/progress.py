"""Progress of deliveries, for operators: two queries for any number of fan-outs."""

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from feeds.models import FanOut, FanOutChunk, Mode
from socialsite.core import db

OPEN_MAX, DONE_MAX = 50, 5


@dataclass(frozen=True, slots=True)
class Progress:
    """One fan-out at one moment.

    Times are ms; `rate` is rows a second since the post was published.
    """

    post_id: int
    author: str
    mode: str
    state: str
    chunks: int
    chunks_done: int
    delivered: int
    age_ms: int
    held: int = field(default=0)
    expired: int = field(default=0)

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.delivered * 1000 / max(self.age_ms, 1)


def _of_chunks(value: Any, where: Q | None = None) -> Coalesce:
    """Return a column computed from a row's chunks: evaluated only for the rows of a page."""
    chunks = FanOutChunk.objects.filter(where or Q(), fanout=OuterRef("pk"))
    found = chunks.order_by().values("fanout").annotate(value=value).values("value")
    return Coalesce(Subquery(found), 0)


def with_progress(rows: "QuerySet[FanOut]") -> "QuerySet[FanOut]":
    """Add `chunks_done`, `delivered`, `held` and `expired` (leases of open chunks) to fan-outs."""
    now = db.now_ms()
    being_tried = Q(done=False, lease__gt=0)
    return rows.annotate(
        chunks_done=_of_chunks(Count("*"), Q(done=True)),
        delivered=_of_chunks(Sum("delivered")),
        held=_of_chunks(Count("*"), being_tried & Q(leased_until__gt=now)),
        expired=_of_chunks(Count("*"), being_tried & Q(leased_until__lte=now)),
    )


def read(post_id: int | None = None) -> list[Progress]:
    """Return the open fan-outs, oldest first, and the last finished; or only those of one post."""
    now = db.now_ms()
    rows = with_progress(FanOut.objects.select_related("author"))
    if post_id is not None:
        found = list(rows.filter(pk=post_id))
    else:
        unfinished = rows.filter(state__lt=FanOut.State.DONE).order_by("position", "pk")
        finished = rows.filter(state=FanOut.State.DONE).order_by("-pk")
        found = [*unfinished[:OPEN_MAX], *finished[:DONE_MAX]]
    return [_progress(row, now) for row in found]


def age_ms(row: FanOut, now: int) -> int:
    """Return the time in ms that a fan-out has been open, or was open."""
    end = row.done_at if row.state == FanOut.State.DONE and row.done_at else now
    return max(0, end - row.position)


def _progress(row: Any, now: int) -> Progress:
    return Progress(
        post_id=row.pk,
        author=row.author.username,
        mode=Mode(row.mode).name,
        state=FanOut.State(row.state).name,
        chunks=row.total,
        chunks_done=row.chunks_done,
        delivered=row.delivered,
        age_ms=age_ms(row, now),
        held=row.held,
        expired=row.expired,
    )
