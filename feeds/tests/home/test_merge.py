"""The merge, compared with the worked example of S4 and with sorting."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.home.merge import merge
from feeds.tests.book_example import INBOX, OFFSET, OUTBOX_200, OUTBOX_211, PAGES
from socialsite.core.db import page_filling
from socialsite.core.positions import Position

pytestmark = pytest.mark.embedded


def positions(pairs: list[tuple[int, int]]) -> list[Position]:
    return [Position(seconds * 1000, OFFSET + ident) for ident, seconds in pairs]


def test_the_golden_example_has_the_expected_pages() -> None:
    sources = [positions(source) for source in (OUTBOX_200, OUTBOX_211, INBOX)]
    cursor = None
    for expected in PAGES:
        rest = [
            [p for p in source if cursor is None or p < cursor][:3]  # each complete for a page
            for source in sources
        ]
        page = merge(rest, 3)
        assert [p.id - OFFSET for p in page] == expected
        cursor = page[-1] if page else cursor


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=12), max_size=5),
    st.integers(1, 8),
)
def test_merge_is_the_sorted_distinct_union(lists: list[list[tuple[int, int]]], size: int) -> None:
    everything = {Position(*pair) for source in lists for pair in source}
    sources = [sorted({Position(*p) for p in source}, reverse=True)[:size] for source in lists]
    assert merge(sources, size) == sorted(everything, reverse=True)[:size]


@pytest.mark.parametrize("size", [1, 3])
def test_one_post_in_two_sources_appears_once(size: int) -> None:
    post = Position(5, 7)
    assert merge([[post], [post], []], size) == [post]


class Gate:
    """Shows only some posts."""

    def __init__(self, *shown: int) -> None:
        self.shown = shown

    def cards(self, ids: list[int], most: int) -> dict[int, object]:
        return {ident: ident for ident in ids if ident in self.shown}


@pytest.mark.parametrize("shown", [(), (9_990,), (9_990, 8_000)])
def test_a_page_of_hidden_posts_continues_below_the_last_one_checked(
    shown: tuple[int, ...],
) -> None:
    """T39: not below the last one shown, and never as if that were the end."""
    everything = [Position(number, number) for number in range(10_000, 0, -1)]

    def run(cursor: Position | None, want: int) -> list[Position]:
        return [place for place in everything if cursor is None or place < cursor][:want]

    hidden: Any = Gate(*shown)
    page = page_filling.fill(hidden.cards, page_filling.walk(run, None, 3), 2)
    looked_at = sum(
        min(3 * 2**number, page_filling.ROUND_MAX) for number in range(page_filling.ROUNDS_MAX)
    )
    last = everything[looked_at - 1]
    assert page.items == [ident for ident in shown if ident >= last.id]
    assert page.next is not None
    assert Position.decode(page.next) == last
