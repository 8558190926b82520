"""The posts that people react to now, as the last ranking found them."""

from typing import TYPE_CHECKING

from feeds import queries as feeds_queries
from interactions.models import RisingPost
from interactions.queries.decoration import decorate
from socialsite.core.http.pagination import Page, Position

if TYPE_CHECKING:
    from accounts.tokens.requests import Viewer
    from feeds.home.hydration import Card


def rising(viewer: "Viewer", cursor: Position | None, size: int) -> "Page[Card]":
    """Return a page of the posts that people react to now, the best first.

    Whether the reader may see a post is checked now. The cursor is of the place in the ranking: a
    ranking in between may repeat posts or leave some out.
    """
    begin = 0 if cursor is None else cursor.ts_ms
    ranked = RisingPost.objects.filter(place__gte=begin).order_by("place")
    rows = list(ranked.values_list("place", "post_id"))
    cards = feeds_queries.visible_cards(viewer, [ident for _place, ident in rows])
    shown = [(place, cards[ident]) for place, ident in rows if ident in cards]
    following = Position(shown[size][0], 0).encode() if len(shown) > size else None
    return Page(decorate(viewer, [card for _place, card in shown[:size]]), following)
