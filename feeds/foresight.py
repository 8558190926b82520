"""What a process may guess of the next page, so that it asks for all of it at once.

Who wrote a post never changes, and what a big author published last seldom does. Nothing of this is
ever shown: a guess only decides what is asked for early; a wrong one costs a few keys, one that is
missing a round trip.
"""

from collections.abc import Iterable, Sequence

from feeds.cache.timeline import Run
from socialsite.core.pagination import Position

# Kept of each kind, then forgotten all together.
POSTS_MAX, AUTHORS_MAX = 100_000, 2_000
# Kept of an author: a page looks at no more, a list read from the database may be far longer.
NEWEST_MAX = 32

_writers: dict[int, int] = {}
_newest: dict[int, Run] = {}


def wrote(post_id: int, author_id: int) -> None:
    """Learn who wrote a post."""
    if len(_writers) >= POSTS_MAX:
        _writers.clear()
    _writers[post_id] = author_id


def writers(post_ids: Iterable[int]) -> set[int]:
    """Return the authors of those of these posts that were seen before."""
    return {author for post in post_ids if (author := _writers.get(post)) is not None}


def published(author_id: int, newest: Run) -> None:
    """Learn what an author whose posts are pulled published last."""
    if len(_newest) >= AUTHORS_MAX:
        _newest.clear()
    if len(newest.entries) > NEWEST_MAX:
        newest = newest._replace(entries=newest.entries[:NEWEST_MAX])
    _newest[author_id] = newest


def newest(author_id: int, reach: int, most: int) -> Sequence[Position]:
    """Return what an author published at or above `reach` (ms), as far as that is known."""
    run = _newest.get(author_id)
    return () if run is None else run.positions(reach, most)


def forget() -> None:
    """Know nothing, as a process that has just begun."""
    _writers.clear()
    _newest.clear()
