"""The posts that people react to now, as the last ranking found them."""

from typing import TYPE_CHECKING

from feeds import queries as feeds_queries
from interactions.models import RisingPost
from interactions.queries.decoration import Decoration
from socialsite.core.positions import Page, Position

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer
    from feeds.cards.card import Card


def rising(viewer: "Viewer", cursor: Position | None, size: int) -> "Page[Card]":
    """Return a page of the posts that people react to now, the best first.

    Whether the reader may see a post is checked now. The cursor is of the place in the ranking: a
    ranking in between may repeat posts or leave some out.
    """
    ranked = RisingPost.objects.order_by("place")

    def run(after: Position | None, count: int) -> list[Position]:
        rows = ranked if after is None else ranked.filter(place__gt=after.ts_ms)
        return [Position(*row) for row in rows.values_list("place", "post_id")[:count]]

    decoration = Decoration(None if viewer is None else viewer.pk)
    return feeds_queries.page_of(viewer, run, cursor, size, decoration, listed_only=True)
