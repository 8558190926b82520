"""Pages of results for requests: the sort, and the cursor that belongs to it."""

from typing import TYPE_CHECKING, cast

from django.utils.translation import gettext as _

from feeds.cards.card import Card
from feeds.discovery.search import queries
from feeds.discovery.search.cursors import Cursor
from feeds.discovery.search.language import Question
from feeds.discovery.search.queries import Sort
from socialsite.core.errors import InvalidInput
from socialsite.core.positions import Page, Position

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer

DEFAULT: Sort = "top"


def sort_of(text: str | None, *, strict: bool = True) -> Sort:
    """Return the sort that a request names; InvalidInput, or the default, for another one."""
    if not text:
        return DEFAULT
    if text not in ("top", "new"):
        if strict:
            raise InvalidInput(fields={"sort": [_("Must be top or new.")]})
        return DEFAULT
    return cast("Sort", text)


def page(viewer: "Viewer", question: Question, sort: Sort, cursor: str, size: int) -> Page[Card]:
    """Return a page of results; raises InvalidInput for a cursor of another sort."""
    if sort == "new":
        return queries.newest(viewer, question, Position.decode(cursor) if cursor else None, size)
    return queries.best(viewer, question, Cursor.decode(cursor) if cursor else None, size)
