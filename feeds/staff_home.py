"""The part of feeds in the staff home: the last checks of feeds and search."""

from django.utils.translation import gettext_lazy

from feeds.audit import verify
from feeds.discovery.search import drift
from socialsite.core.staff_home.tiles import Figure, Tile, checked


def wrong_feeds() -> Figure:
    """Return how many posts were missing from home feeds, or wrong there, at the last check."""
    check = verify.last()
    return checked(None) if check is None else checked(check.finished_at, check.differences)


def wrong_in_search() -> Figure:
    """Return how many posts the search index had wrong at the last check."""
    check = drift.last()
    return checked(None) if check is None else checked(check.finished_at, check.wrong)


WRONG_FEEDS = Tile(gettext_lazy("Wrong places in feeds"), wrong_feeds, admins_only=True)
WRONG_IN_SEARCH = Tile(gettext_lazy("Wrong posts in search"), wrong_in_search, admins_only=True)
