"""docs/specification.md has a line for every cited id, and a test for every line.

A line that no code cites is fine: its test covers it, and comments should cite an id only if it
adds something to the sentence.
"""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from socialsite.tests.documents.documents import CITED_TEST, ROOT, is_test, texts

pytestmark = pytest.mark.once

DOCUMENT = "docs/specification.md"
# A letter and a number, or "spec I"; not a part of a word, an address, a number or a path.
ID = re.compile(r"(?<![\w%./&#-])([A-EIST]\d{1,2}[a-z]?)(?:-([A-EIST]\d{1,2}))?(?![\w%])")
SPEC = re.compile(r"\bspec [A-Z]\b")
LINE = re.compile(r"^- \*\*([^*]+)\*\* (.+(?:\n  .+)*)", re.MULTILINE)
# Codes of linters have the same form.
LINTER = re.compile(r"""# noqa.*|^select = .*|^".*" = \[.*""", re.MULTILINE)
# Documents outside the repository.
ELSEWHERE = re.compile(r"\b(?:design|reliability) (?:section )?\d|\bissue \d|\b[Pp]romise \d")
SOURCES = {"S0", "S1", "S2", "S3", "S4"}


def cited_in(text: str) -> Iterator[str]:
    """Yield the ids that a text cites; for a range, each of its ids."""
    text = LINTER.sub("", text)
    yield from SPEC.findall(text)
    for first, last in ID.findall(text):
        if last:
            for number in range(int(re.sub(r"\D", "", first)), int(last[1:]) + 1):
                yield f"{first[0]}{number}"
        else:
            yield first


@pytest.fixture(scope="module")
def lines() -> list[tuple[str, str]]:
    """Return id and sentence of every line of the document."""
    return LINE.findall((ROOT / DOCUMENT).read_text())


def test_an_id_is_found_in_a_text_and_a_code_of_a_linter_is_not() -> None:
    assert list(cited_in("as T43-T45 say (A4, spec I); T31b")) == [
        *("spec I", "T43", "T44", "T45", "A4", "T31b"),
    ]
    assert list(cited_in("x = 1  # noqa: B018\n%F0%A9 S101 ISO 8601 UTF-8 C4xy a/b/c/D4.png")) == []


def test_every_id_that_is_cited_has_a_line(lines: list[tuple[str, str]]) -> None:
    known = {ident for ident, _ in lines}
    unknown = [
        f"{path}: {ident}"
        for path, text in texts()
        for ident in cited_in(text)
        if ident not in known and path.name != "test_specification.py"
    ]
    assert unknown == []


def test_nothing_refers_to_a_document_that_is_not_here() -> None:
    found = [
        f"{path}: {match}"
        for path, text in texts()
        for match in ELSEWHERE.findall(text)
        if path.name != "test_specification.py"
    ]
    assert found == []


def test_every_line_stands_there_once(lines: list[tuple[str, str]]) -> None:
    times = Counter(ident for ident, _ in lines)
    assert [ident for ident, number in times.items() if number > 1] == []
    assert times.keys() >= SOURCES
    # All lines have this form.
    assert len(lines) == len(re.findall("^- ", (ROOT / DOCUMENT).read_text(), re.MULTILINE))
    assert [ident for ident in times if list(cited_in(ident)) != [ident]] == []


def test_every_line_has_a_test_and_the_test_exists(lines: list[tuple[str, str]]) -> None:
    for ident, said in lines:
        tests = CITED_TEST.findall(said)
        assert said.count("::test_") == len(tests), ident
        assert len(CITED_TEST.sub("", said).split()) >= 5, ident
        assert tests or ident in SOURCES, f"{ident} has no test"
        missing = [path + name for path, name in tests if not is_test(path, name)]
        assert missing == [], ident
