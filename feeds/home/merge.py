"""Merge several newest-first sources into one page.

A source is a list of positions in feed order that is complete down to its last one: it skips no
item of its own. If every source was read up to N items, the first N of the merge are exact.
"""

import heapq
import itertools
from collections.abc import Iterable, Sequence

from socialsite.core.positions import Position


def merge(sources: Iterable[Sequence[Position]], size: int) -> list[Position]:
    """Return the first `size` distinct positions, newest first, the larger id first in ties."""
    ordered = heapq.merge(*sources, reverse=True)
    distinct = (position for position, _same in itertools.groupby(ordered))
    return list(itertools.islice(distinct, size))
