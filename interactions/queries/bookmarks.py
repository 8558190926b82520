"""The posts that a person keeps."""

from typing import TYPE_CHECKING

from feeds import queries as feeds_queries
from interactions.models import Bookmark
from interactions.queries.decoration import Decoration
from socialsite.core.positions import Page, Position, before

if TYPE_CHECKING:
    from accounts.models import User
    from feeds.cards.card import Card


def bookmarks(viewer: "User", cursor: Position | None, size: int) -> "Page[Card]":
    """Return a page of the posts that somebody keeps, what was kept last first.

    Posts that the person may not see (any more) are left out, and made up for from further down.
    The cursor is of the time when a post was kept.
    """
    rows = Bookmark.objects.filter(user_id=viewer.pk).order_by("-position", "-post_id")

    def run(after: Position | None, count: int) -> list[Position]:
        found = rows.filter(before(after, "position", "post_id"))
        return [Position(*row) for row in found.values_list("position", "post_id")[:count]]

    return feeds_queries.page_of(viewer, run, cursor, size, Decoration(viewer.pk))
