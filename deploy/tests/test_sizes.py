"""The check of sizes finds what is too long, and only that."""

from pathlib import Path

import pytest

from deploy.dev import sizes
from deploy.services.site_processes import PROJECT_DIR

pytestmark = pytest.mark.once


def written(folder: Path, text: str) -> Path:
    path = folder / "written"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_module_and_a_function_have_a_maximum_of_lines(tmp_path: Path) -> None:
    body = "    pass\n"
    assert not list(sizes.too_long(written(tmp_path, "def f():\n" + body * 49 + "x = 1\n" * 350)))
    found = list(sizes.too_long(written(tmp_path, "def f():\n" + body * 50 + "x = 1\n" * 350)))
    assert found == ["401 lines, at most 400", "f has 51 lines, at most 50"]


def test_a_line_of_a_template_has_at_most_160_characters(tmp_path: Path) -> None:
    assert not list(sizes.wide_template(written(tmp_path, "好" * 160 + "\n")))
    found = list(sizes.wide_template(written(tmp_path, "<p>\n" + "a" * 161 + "\n")))
    assert found == ["line 2 has 161 characters, at most 160"]


LONG = "word " * 20 + "end"  # 103 characters


@pytest.mark.parametrize("before", ["", "- ", "1. ", "> ", "- one\n  "])
def test_a_line_of_a_document_has_at_most_100_characters(tmp_path: Path, before: str) -> None:
    assert not list(sizes.wide_document(written(tmp_path, before + LONG[:90])))
    (found,) = sizes.wide_document(written(tmp_path, before + LONG))
    assert "characters, at most 100" in found


@pytest.mark.parametrize(
    "text",
    [
        f"# {LONG}",
        f"| {LONG} | b |\n|---|---|\n| c | {LONG} |",
        f"```\n{LONG}\n```",
        f"text\n\n    {LONG}",
        f"- {'a' * 120}",
        f"text\n  `{'a' * 120}`",
        f"[{'a' * 60}]({'b' * 60})",
    ],
    ids=["heading", "table", "fence", "code", "item", "code in a text", "link"],
)
def test_lines_of_a_document_that_cannot_be_wrapped_may_be_longer(
    tmp_path: Path, text: str
) -> None:
    assert not list(sizes.wide_document(written(tmp_path, text)))


def test_all_kinds_of_files_are_checked_and_pass() -> None:
    checked = list(sizes.checked())
    checks = {check for _path, check in checked}
    assert checks == {sizes.too_long, sizes.wide_template, sizes.wide_document}
    names = {path.relative_to(PROJECT_DIR).as_posix() for path, _check in checked}
    assert {"README.md", "docs/decisions/0001-order-of-reads.md", "templates/base.html"} <= names
    assert "accounts/templates/admin/base_site.html" in names
    assert sizes.main() == 0
