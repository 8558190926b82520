"""Numbers by day are stored once for each day that is over; gaps are filled, nothing doubles."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils.translation import gettext_lazy

from socialsite.core.models import DayCount
from socialsite.core.staff_home import day_counts
from socialsite.core.staff_home.day_counts import DAYS, Kind, Span, fill
from socialsite.tests.standstill import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

DAY_MS = 86_400_000
TODAY = date(2027, 1, 15)
YESTERDAY = date(2027, 1, 14)


@pytest.fixture(autouse=True)
def _just_after_midnight(clock: Clock) -> None:
    clock.now = round(datetime(2027, 1, 15, 0, 1, tzinfo=UTC).timestamp() * 1000)


def kind(number_of: Callable[[Span], int | None], name: str = "apples") -> Kind:
    return Kind(name, gettext_lazy("Posts and reposts"), number_of)


def stored(name: str = "apples") -> dict[date, int]:
    return dict(DayCount.objects.filter(kind=name).values_list("day", "number"))


def test_each_of_the_last_days_is_counted_once_and_today_is_not() -> None:
    asked: list[Span] = []
    apples = kind(lambda span: asked.append(span) or len(asked))
    assert fill([apples]) == DAYS
    assert min(stored()) == TODAY - timedelta(days=DAYS)
    assert max(stored()) == YESTERDAY
    assert sorted(stored().values()) == list(range(1, DAYS + 1))
    assert len(asked) == DAYS
    first = stored()
    assert fill([apples]) == 0
    assert (len(asked), stored()) == (DAYS, first)


def test_a_day_is_from_midnight_to_midnight_in_utc() -> None:
    asked: list[Span] = []
    fill([kind(lambda span: asked.append(span) or 0)])
    last = asked[-1]
    assert last.start == datetime(2027, 1, 14, tzinfo=UTC)
    assert last.end == datetime(2027, 1, 15, tzinfo=UTC)
    assert (last.end_ms - last.start_ms, last.start_ms % DAY_MS) == (DAY_MS, 0)
    assert [span.is_just_over for span in asked] == [False] * (DAYS - 1) + [True]


def test_a_gap_is_filled_and_the_other_numbers_stay() -> None:
    fill([kind(lambda _span: 5)])
    gap = YESTERDAY - timedelta(days=7)
    DayCount.objects.filter(day=gap).delete()
    assert fill([kind(lambda _span: 9)]) == 1
    assert stored().pop(gap) == 9
    assert sorted(stored().values()) == [5] * (DAYS - 1) + [9]


def test_after_days_without_a_run_only_those_days_are_counted(clock: Clock) -> None:
    fill([kind(lambda _span: 5)])
    clock.now += 3 * DAY_MS
    assert fill([kind(lambda _span: 9)]) == 3
    assert sorted(day for day, number in stored().items() if number == 9) == [
        TODAY + timedelta(days=more) for more in range(3)
    ]


def test_a_day_that_cannot_be_counted_any_more_stays_without_a_number() -> None:
    apples = kind(lambda span: 7 if span.is_just_over else None)
    assert fill([apples]) == 1
    assert stored() == {YESTERDAY: 7}


def test_two_runs_at_once_store_each_number_once() -> None:
    others: list[int] = []

    def counted(span: Span) -> int:
        if not others:
            others.append(fill([kind(lambda _span: 5)]))
        return 9

    assert fill([kind(counted)]) == 0
    assert others == [DAYS]
    assert set(stored().values()) == {5}
    assert len(stored()) == DAYS


def test_kinds_are_apart() -> None:
    fill([kind(lambda _span: 5), kind(lambda _span: 6, "pears")])
    days = day_counts.days_before(TODAY)
    found = day_counts.numbers(["apples", "pears", "plums"], days)
    assert set(found["apples"].values()) == {5}
    assert set(found["pears"].values()) == {6}
    assert found["plums"] == {}
    assert list(found["pears"]) == days
