"""Build full pages from runs of positions, however many of them are hidden.

Positions are read first, from an index alone. Positions that the reader may not see are skipped and
replaced by older ones. Each round reads twice as many, and there are at most ROUNDS_MAX rounds, so
a page costs a bounded number of queries.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet

from socialsite.core.positions import Page, Position, before

T = TypeVar("T")

ROUND_MAX = 400
ROUNDS_MAX = 7


def newest(rows: "QuerySet[Any]", ident: str, cursor: Position | None, size: int) -> list[Position]:
    """Return the first `size` positions of rows after the cursor."""
    found = rows.filter(before(cursor, "position", ident)).order_by("-position", f"-{ident}")
    return [Position(*pair) for pair in found.values_list("position", ident)[:size]]


def walk(
    run: Callable[[Position | None, int], list[Position]], cursor: Position | None, size: int
) -> Iterator[list[Position]]:
    """Yield ever older runs of positions after the cursor; the first has `size`.

    The caller stops after ROUNDS_MAX.
    """
    while True:
        found = run(cursor, size)
        if found:
            yield found
        if len(found) < size:
            return
        cursor = found[-1]
        size = min(size * 2, ROUND_MAX)


def fill(
    fetch: Callable[[list[int], int], Mapping[int, T]],
    runs: Iterable[list[Position]],
    size: int,
    *,
    head: Sequence[tuple[Position, T]] = (),
    first: int | None = None,
) -> Page[T]:
    """Make one page from `head` and the visible positions of the runs.

    `fetch(ids, most)` returns the items that the reader may see, by id; more than `most` are not
    needed. The first call covers `first` positions, by default `size` + 1.

    The page is full, or the list ends with it. Only after ROUNDS_MAX rounds of hidden positions may
    a page be short and still have a `next`, below the last position checked.
    """
    kept = list(head)
    reached: Position | None = None
    # Usually nothing is hidden, and the extra positions of the first run are not read.
    first = size + 1 if first is None else first
    for number, run in enumerate(runs if len(kept) <= size else (), start=1):
        for part in (run[:first], run[first:]) if number == 1 else (run,):
            if part and len(kept) <= size:
                shown = fetch([position.id for position in part], size + 1 - len(kept))
                kept += [(place, shown[place.id]) for place in part if place.id in shown]
        if len(kept) > size:
            break
        if number == ROUNDS_MAX:
            reached = run[-1]
            break
    if len(kept) > size:
        reached = kept[size - 1][0]
    return Page([item for _, item in kept[:size]], None if reached is None else reached.encode())
