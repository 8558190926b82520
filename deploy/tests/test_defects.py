"""The deliberate defects fit the tree; `make chaos ARGS=defects` runs the tests on each of them."""

import re
from pathlib import Path

import pytest

from chaos.deliberate import table
from chaos.deliberate.defect import Defect, MisplacedDefect
from chaos.deliberate.scratch import Run
from deploy.services.site_processes import PROJECT_DIR

pytestmark = pytest.mark.once


def test_there_are_thirty_or_more_defects_of_different_names() -> None:
    assert len({one.name for one in table.DEFECTS}) == len(table.DEFECTS) >= 30


@pytest.mark.parametrize("one", table.DEFECTS, ids=lambda one: one.name)
def test_a_defect_fits_its_file_and_its_tests_exist(one: Defect) -> None:
    one.check(PROJECT_DIR)
    assert one.new != one.old
    assert one.tests
    for test in one.tests:
        file, _, name = test.partition("::")
        function = name.rpartition("::")[2].partition("[")[0]
        assert re.search(rf"def {function}\(", (PROJECT_DIR / file).read_text()), test


def test_a_defect_is_put_in_and_taken_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a < b")
    with Defect("less", "file", "<", "<=", ()).put_into(tmp_path):
        assert (tmp_path / "file").read_text() == "a <= b"
    assert (tmp_path / "file").read_text() == "a < b"


@pytest.mark.parametrize("text", ["a > b", "a < b < c"])
def test_a_text_that_is_not_there_once_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(MisplacedDefect, match="less: file must have this text once"):
        Defect("less", "file", "<", "<=", ()).check(tmp_path)


@pytest.mark.parametrize(
    ("code", "test", "message", "noticed"),
    [
        (1, "test_it", "assert 1 == 2", True),
        (0, "", "", False),
        (1, "", "", False),  # an error in a fixture
        (1, "test_it", "NameError: name 'x' is not defined", False),
        (2, "test_it", "assert 1 == 2", False),
        (4, "", "", False),
    ],
)
def test_only_a_test_that_fails_by_itself_notices_a_defect(
    code: int, test: str, message: str, noticed: bool
) -> None:
    assert Run(code, test, message, 0.0, "").noticed is noticed
