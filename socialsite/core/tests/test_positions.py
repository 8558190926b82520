"""Positions, cursors, pages."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.core.errors import InvalidInput
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event
from socialsite.core.positions import MAX_TS_MS, NEWEST, Page, Position, before, cut

positions = st.builds(Position, st.integers(0, MAX_TS_MS), st.integers(0, MAX_ID))


@pytest.mark.once
@given(positions)
def test_a_cursor_comes_back_as_its_position(position: Position) -> None:
    assert Position.decode(position.encode()) == position


@pytest.mark.once
@given(positions)
def test_a_cursor_is_safe_in_an_address(position: Position) -> None:
    assert set(position.encode()) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


@pytest.mark.once
@given(st.text(max_size=60))
def test_any_text_is_a_cursor_or_invalid_input(text: str) -> None:
    try:
        found = Position.decode(text)
    except InvalidInput:
        return
    assert 0 <= found.ts_ms <= MAX_TS_MS
    assert 0 <= found.id <= MAX_ID


@pytest.mark.once
@given(st.binary(max_size=40))
def test_any_bytes_are_a_cursor_or_invalid_input(data: bytes) -> None:
    text = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    try:
        found = Position.decode(text)
    except InvalidInput:
        return
    assert found.encode() == text


@pytest.mark.once
@pytest.mark.parametrize(
    "text",
    ["", "x", "=", "AAAA", "é", "\u0000", "١٢٣", " ", Position(1, 2).encode() + "A", "A" * 10_000],
)
def test_garbage_is_invalid_input(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Position.decode(text)
    assert list(caught.value.fields or ()) == ["cursor"]


@pytest.mark.once
def test_numbers_beyond_their_range_are_refused() -> None:
    for ts_ms, ident in ((MAX_TS_MS + 1, 1), (1, MAX_ID + 1)):
        with pytest.raises(InvalidInput):
            Position.decode(Position(ts_ms, ident).encode())


@pytest.mark.django_db
def test_before_is_the_order_of_the_pair_time_then_id() -> None:
    rows = [
        Event.objects.create(
            aggregate_type="t", aggregate_id=ident, type="t", payload={}, available_at=time
        )
        for time, ident in ((5, 1), (5, 2), (5, 3), (4, 9), (6, 0))
    ]
    places = [Position(row.available_at, row.aggregate_id) for row in rows]
    for place in [*places, Position(5, 0), Position(5, 99), NEWEST]:
        found = Event.objects.filter(before(place, "available_at", "aggregate_id"))
        assert sorted(found.values_list("available_at", "aggregate_id")) == sorted(
            other for other in places if other < place
        )
    assert Event.objects.filter(before(None)).count() == 5


@pytest.mark.once
def test_a_page_has_a_next_only_when_there_is_more() -> None:
    rows = [Position(time, time) for time in (9, 8, 7)]
    assert cut(rows, 3, lambda row: row) == Page(rows, None)
    page = cut(rows, 2, lambda row: row)
    assert page.items == rows[:2]
    assert page.next == rows[1].encode()
    assert cut([], 2, lambda row: row) == Page([], None)
    assert page.with_items(["a"]) == Page(["a"], page.next)
