"""Full pages out of runs of positions, whatever is hidden.

Positions come first, from an index alone; what the reader may not see of them is passed over, and
made up for from further down. Rounds double, and there are ROUNDS_MAX of them: a page costs a
bounded number of queries, whatever is hidden.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet

from socialsite.core.pagination import Page, Position, before

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
    """Yield ever older runs of positions after the cursor, the first of `size`.

    Whoever takes them stops after ROUNDS_MAX.
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
    look: Callable[[list[int], int], Mapping[int, T]],
    runs: Iterable[list[Position]],
    size: int,
    *,
    head: Sequence[tuple[Position, T]] = (),
    first: int | None = None,
) -> Page[T]:
    """Make one page of `head` and of what is seen of runs.

    `look(ids, most)` returns by id what the reader may see of the positions with these ids; more
    than `most` are not needed. `first` positions are looked at first, `size` + 1 unless told.

    The page is full, or the list ends with it; only after ROUNDS_MAX rounds of what is hidden is
    it short and has a `next` all the same, below the last that was looked at.
    """
    kept = list(head)
    reached: Position | None = None
    # As a rule nothing is hidden, and the few more of the first run are not looked at.
    first = size + 1 if first is None else first
    for number, run in enumerate(runs if len(kept) <= size else (), start=1):
        for part in (run[:first], run[first:]) if number == 1 else (run,):
            if part and len(kept) <= size:
                shown = look([position.id for position in part], size + 1 - len(kept))
                kept += [(place, shown[place.id]) for place in part if place.id in shown]
        if len(kept) > size:
            break
        if number == ROUNDS_MAX:
            reached = run[-1]
            break
    if len(kept) > size:
        reached = kept[size - 1][0]
    return Page([item for _, item in kept[:size]], None if reached is None else reached.encode())
