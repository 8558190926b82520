"""Time-ordered ids."""

import threading
import time

import pytest

from socialsite.core import ids

pytestmark = pytest.mark.once


def test_ids_strictly_increase_within_a_process() -> None:
    made = [ids.new_id() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_ids_of_many_threads_are_all_different() -> None:
    made: list[int] = []

    def make() -> None:
        made.extend([ids.new_id() for _ in range(2_000)])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 16_000


def test_an_id_has_19_digits_and_fits_a_signed_64_bit_column() -> None:
    made = ids.new_id()
    assert len(str(made)) == 19
    assert ids.MIN_ID <= made <= ids.MAX_ID


def test_an_id_contains_its_creation_time() -> None:
    before = time.time_ns() // 1_000_000
    made = ids.new_id()
    after = time.time_ns() // 1_000_000
    assert before <= ids.ms_of(made) <= after + 1


def test_ids_go_on_increasing_when_the_clock_goes_back(monkeypatch) -> None:
    first = ids.new_id()
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 300 * 10**9)
    assert ids.new_id() == first + 1


@pytest.mark.once
@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("0", 0), ("007", 7), (str(ids.MAX_ID), ids.MAX_ID)],
        *[(text, None) for text in ("", "-1", "+1", " 1", "1 ", "1.0", "1e1", "x", "١", "²")],
        *[(text, None) for text in (str(ids.MAX_ID + 1), "0" * 20, "9" * 5000)],
    ],
)
def test_a_text_is_a_number_in_ascii_digits(text: str, number: int | None) -> None:
    assert ids.number_of(text) == number
