"""Full pages out of runs of positions, whatever the gate hides (A27, T39)."""

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from feeds.cards import Card, Hydration
from socialsite.core.pagination import Page, Position, before

# Rounds double, so that a page costs a bounded number of queries whatever the gate hides.
ROUND_MAX = 400
ROUNDS_MAX = 7


def newest(rows: "QuerySet[Any]", ident: str, cursor: Position | None, size: int) -> list[Position]:
    """Return the first `size` positions of rows after the cursor."""
    found = rows.filter(before(cursor, "position", ident)).order_by("-position", f"-{ident}")
    return [Position(*pair) for pair in found.values_list("position", ident)[:size]]


def walk(
    run: Callable[[Position | None, int], list[Position]], cursor: Position | None, size: int
) -> Iterator[list[Position]]:
    """Yield ever older runs of positions after the cursor, the first of `size`."""
    while True:
        found = run(cursor, size)
        if found:
            yield found
        if len(found) < size:
            return
        cursor = found[-1]
        size = min(size * 2, ROUND_MAX)


def fill(hydration: Hydration, runs: Iterator[list[Position]], size: int) -> Page[Card]:
    """Make one page of runs; what the gate hides is made up for from further down.

    The page is full, or the list ends with it; only after ROUNDS_MAX rounds of hidden posts is it
    short and has a `next` all the same.
    """
    kept: list[Card] = []
    last: Position | None = None
    for number, run in enumerate(runs, start=1):
        # As a rule nothing is hidden, and the few more of the first run are not looked at.
        parts = (run[: size + 1], run[size + 1 :]) if number == 1 else (run,)
        for part in filter(None, parts):
            visible = hydration.cards([position.id for position in part], size + 1 - len(kept))
            for position in part:
                if position.id not in visible:
                    continue
                if len(kept) == size and last is not None:
                    return Page(kept, last.encode())
                kept.append(visible[position.id])
                last = position
        if number == ROUNDS_MAX:
            reached = last if len(kept) == size and last is not None else run[-1]
            return Page(kept, reached.encode())
    return Page(kept, None)
