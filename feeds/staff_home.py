"""The part of feeds in the staff home: the last checks of feeds and search, and posts by day."""

from django.utils.translation import gettext_lazy

from feeds.audit import verify
from feeds.discovery.search import drift
from feeds.models import Post
from socialsite.core.rights import Right
from socialsite.core.staff_home.day_counts import Kind, Span
from socialsite.core.staff_home.tiles import Figure, Tile, checked


def wrong_feeds() -> Figure:
    """Return how many posts were missing from home feeds, or wrong there, at the last check."""
    check = verify.last()
    return checked(None) if check is None else checked(check.finished_at, check.differences)


def wrong_in_search() -> Figure:
    """Return how many posts the search index had wrong at the last check."""
    check = drift.last()
    return checked(None) if check is None else checked(check.finished_at, check.wrong)


def posts(span: Span) -> int:
    """Return how many posts and reposts were published on a day, deleted ones too."""
    return Post.objects.filter(position__gte=span.start_ms, position__lt=span.end_ms).count()


WRONG_FEEDS = Tile(gettext_lazy("Wrong places in feeds"), wrong_feeds, rights=Right.OPERATION)
WRONG_IN_SEARCH = Tile(
    gettext_lazy("Wrong posts in search"), wrong_in_search, rights=Right.OPERATION
)
DAYS = (Kind("posts", gettext_lazy("Posts and reposts"), posts),)
