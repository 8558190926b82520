"""Guesses about the next page, which let a process prefetch all its data at once.

The author of a post never changes, and the newest posts of a big author rarely do. Guesses are
never shown: they only decide what is prefetched. A wrong guess costs a few keys, a missing one
costs a round trip.
"""

from collections.abc import Iterable, Sequence

from feeds.cache.timeline import Run
from socialsite.core.positions import Position

# Maximum entries of each kind; above it all entries are dropped.
POSTS_MAX, AUTHORS_MAX = 100_000, 2_000
# Posts kept of an author: a page uses no more, and a list from the database may be far longer.
NEWEST_MAX = 32

_writers: dict[int, int] = {}
_newest: dict[int, Run] = {}


def record_author(post_id: int, author_id: int) -> None:
    """Record the author of a post."""
    if len(_writers) >= POSTS_MAX:
        _writers.clear()
    _writers[post_id] = author_id


def writers(post_ids: Iterable[int]) -> set[int]:
    """Return the known authors of these posts."""
    return {author for post in post_ids if (author := _writers.get(post)) is not None}


def record_newest(author_id: int, newest: Run) -> None:
    """Record the newest posts of an author whose posts are pulled."""
    if len(_newest) >= AUTHORS_MAX:
        _newest.clear()
    if len(newest.entries) > NEWEST_MAX:
        newest = newest._replace(entries=newest.entries[:NEWEST_MAX])
    _newest[author_id] = newest


def newest(author_id: int, reach: int, most: int) -> Sequence[Position]:
    """Return the known posts of an author at or above `reach` (ms)."""
    run = _newest.get(author_id)
    return () if run is None else run.positions(reach, most)


def clear() -> None:
    """Drop everything, as in a new process."""
    _writers.clear()
    _newest.clear()
