"""The merge of several newest-first sources into one page.

A source is a list of positions in feed order that is complete down to its last one: nothing that
belongs to it is missing above. If every source was asked for N, the first N of the merge are exact.
"""

import heapq
import itertools
from collections.abc import Iterable, Sequence

from socialsite.core.pagination import Position


def merge(sources: Iterable[Sequence[Position]], size: int) -> list[Position]:
    """Return the first `size` distinct positions, newest first, ties by the larger id."""
    ordered = heapq.merge(*sources, reverse=True)
    distinct = (position for position, _same in itertools.groupby(ordered))
    return list(itertools.islice(distinct, size))
