"""Move the read mark of a home feed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from django.db.models import Q, QuerySet

from feeds import cache
from feeds.models import InboxState
from socialsite.core import db
from socialsite.core.db.compiled import compiled
from socialsite.core.positions import Position

if TYPE_CHECKING:
    from feeds.cards.card import Card

# A post may be committed, or come from elsewhere, so much later than its position says (T50).
LATE_MS = 10_000


def mark_read(
    viewer_id: int, newest: Position, shown: Sequence[int] = (), shown_from: int = 0
) -> None:
    """Move the read mark up to the newest position shown; it never moves back (T49).

    `shown` are the ids of the page down to `shown_from` (ms): what is between them later came in
    late (T50).
    """
    lower = Q(read_ts__lt=newest.ts_ms) | Q(read_ts=newest.ts_ms, read_id__lte=newest.id)
    mark = {"read_ts": newest.ts_ms, "read_id": newest.id}
    values = {**mark, "shown": list(shown), "shown_from": shown_from or newest.ts_ms}
    rows = InboxState.objects.filter(viewer_id=viewer_id)
    if rows.filter(lower).update(**values) or rows.exists():
        return
    db.ensure(InboxState(viewer_id=viewer_id))
    rows.filter(lower).update(**values)


def mark_first_page_read(
    viewer_id: int, cards: "Sequence[Card]", known: bytes | None = None
) -> None:
    """Move the read mark to the newest post of a first page; only a first page moves it.

    `known` is the value of `cache.ReadMark`: a page equal to it writes nothing. If the cache lost
    it, the row in the database decides.
    """
    if not cards:
        return
    newest = Position(cards[0]["position"], int(cards[0]["id"]))
    since = max(cards[-1]["position"], newest.ts_ms - LATE_MS)
    shown = [int(card["id"]) for card in cards if card["position"] > since]
    mark = orjson.dumps([*newest, since, *shown])
    if mark == known:
        return
    with db.spare_write():
        if known is not None or (*newest, shown, since) not in _read_state(viewer_id):
            mark_read(viewer_id, newest, shown, since)
        cache.store_mark(viewer_id, mark)


@compiled
def _read_state(viewer_id: int) -> "QuerySet[InboxState, Any]":
    rows = InboxState.objects.filter(viewer_id=viewer_id)
    return rows.values_list("read_ts", "read_id", "shown", "shown_from")
