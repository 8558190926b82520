"""docs/security.md has every requirement of ASVS 4.0.3 L1 and L2, with a test or a reason."""

import re
from collections.abc import Iterator

import pytest

from socialsite.tests.documents.documents import CITED_TEST, ROOT, is_test

pytestmark = pytest.mark.once

DOCUMENT = ROOT / "docs" / "security.md"
# Requirements of the released standard, without those that it marks as deleted and those of level 3
# alone.
LEVEL_1 = """
    2.1.1-12 2.2.1-3 2.3.1 2.5.1-6 2.7.1-4 2.8.1
    3.1.1 3.2.1-3 3.3.1-2 3.4.1-5 3.7.1
    4.1.1-3 4.1.5 4.2.1-2 4.3.1-2
    5.1.1-5 5.2.1-8 5.3.1-10 5.5.1-4
    6.2.1
    7.1.1-2 7.4.1
    8.2.1-3 8.3.1-4
    9.1.1-3
    10.3.1-3
    11.1.1-5
    12.1.1 12.3.1-5 12.4.1-2 12.5.1-2 12.6.1
    13.1.1 13.1.3 13.2.1-3 13.3.1
    14.2.1-3 14.3.2-3 14.4.1-7 14.5.1-3
"""
LEVEL_2 = """
    1.1.1-7 1.2.1-4 1.4.1 1.4.4-5 1.5.1-4 1.6.1-4 1.7.1-2 1.8.1-2 1.9.1-2 1.10.1 1.11.1-2 1.12.2
    1.14.1-6
    2.3.2-3 2.4.1-5 2.5.7 2.6.1-3 2.7.5-6 2.8.2-7 2.9.1-3 2.10.1-4
    3.2.4 3.3.3-4 3.5.1-3
    4.3.3
    5.4.1-3
    6.1.1-3 6.2.2-6 6.3.1-2 6.4.1-2
    7.1.3-4 7.2.1-2 7.3.1 7.3.3-4 7.4.2-3
    8.1.1-4 8.3.5-8
    9.2.1-4
    10.2.1-2
    11.1.6-8
    12.1.2-3 12.2.1 12.3.6
    13.1.4-5 13.2.5-6 13.3.2 13.4.1-2
    14.1.1-4 14.2.4-6 14.5.4
"""
NUMBER = 259
REASONS = ("Document: ", "Exception: ", "Not applicable: ")
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| L([12]) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def cited(text: str) -> Iterator[str]:
    """Yield the numbers of a list with ranges."""
    for part in text.split():
        first, _, last = part.partition("-")
        section, _, number = first.rpartition(".")
        for found in range(int(number), int(last or number) + 1):
            yield f"{section}.{found}"


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, int, str, str]]:
    """Return number, level, requirement and its answer for every line."""
    text = DOCUMENT.read_text()
    return [(number, int(level), what, how) for number, level, what, how in ROW.findall(text)]


def test_every_requirement_stands_there_once_with_its_level(
    rows: list[tuple[str, int, str, str]],
) -> None:
    levels = dict.fromkeys(cited(LEVEL_1), 1) | dict.fromkeys(cited(LEVEL_2), 2)
    assert len(levels) == NUMBER
    in_order = sorted(levels, key=lambda number: [int(part) for part in number.split(".")])
    assert [number for number, *_ in rows] == in_order
    assert {number: level for number, level, *_ in rows} == levels
    lines = [line for line in DOCUMENT.read_text().splitlines() if re.match(r"\| \d+\.\d", line)]
    assert len(lines) == len(rows)  # all lines have the expected form


def test_every_test_that_is_cited_exists(rows: list[tuple[str, int, str, str]]) -> None:
    missing = []
    for number, _, _, how in rows:
        cited = CITED_TEST.findall(how)
        assert how.count("::test_") == len(cited), number
        for path, name in cited:
            if not is_test(path, name):
                missing.append((number, path + name))
    assert missing == []


def test_every_line_has_a_test_or_a_reason(rows: list[tuple[str, int, str, str]]) -> None:
    for number, _, what, how in rows:
        assert len(what) >= 5, number
        reason = next((how.removeprefix(word) for word in REASONS if how.startswith(word)), None)
        if reason is None:
            assert CITED_TEST.search(how), number
            assert not how.startswith(("Document", "Exception", "Not")), number
        else:
            assert len(CITED_TEST.sub("", reason).strip(" ,.")) >= 8, number


def test_a_line_that_refers_to_another_finds_it(rows: list[tuple[str, int, str, str]]) -> None:
    numbers = {number for number, *_ in rows}
    for number, _, _, how in rows:
        for other in re.findall(r"(?:as|see|\() ?(\d+\.\d+\.\d+)", CITED_TEST.sub("", how)):
            assert other in numbers - {number}, number
