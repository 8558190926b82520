"""Check that modules, functions and lines can be read: `python -m deploy.dev.sizes`.

All templates, scripts and documents are checked, but not the Python modules of tests, migrations,
benchmarks and trials.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from deploy.services.site_processes import PROJECT_DIR

MODULE_MAX, FUNCTION_MAX = 400, 50  # lines
TEMPLATE_MAX, DOCUMENT_MAX = 160, 100  # characters of a line; a script is like a template
CHECKED = ("accounts", "deploy", "feeds", "interactions", "relations", "socialsite")
LEFT_OUT = {"tests", "migrations"}
DOCUMENTS = (".", "bench", "docs", "docs/decisions")
# Parts of a document that have lines of any length.
UNWRAPPED = {"table_open", "fence", "code_block", "heading_open", "html_block"}
_ITEM = re.compile(r"\s*(?:(?:[-*+>]|\d+[.)])\s+)*")
_MARKDOWN = MarkdownIt("commonmark").enable("table")


def too_long(path: Path) -> Iterator[str]:
    """Yield what is too long in a module."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > MODULE_MAX:
        yield f"{lines} lines, at most {MODULE_MAX}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_MAX:
                yield f"{node.name} has {lines} lines, at most {FUNCTION_MAX}"


def wide_template(path: Path) -> Iterator[str]:
    """Yield the lines of a template or a script that are too long."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > TEMPLATE_MAX:
            yield f"line {number} has {len(line)} characters, at most {TEMPLATE_MAX}"


def wide_document(path: Path) -> Iterator[str]:
    """Yield the lines of a Markdown file that are too long and could be wrapped."""
    text = path.read_text(encoding="utf-8")
    free = {
        number
        for token in _MARKDOWN.parse(text)
        if token.type in UNWRAPPED and token.map
        for number in range(*token.map)
    }
    for number, line in enumerate(text.split("\n")):
        if len(line) > DOCUMENT_MAX and number not in free and " " in _ITEM.sub("", line, count=1):
            yield f"line {number + 1} has {len(line)} characters, at most {DOCUMENT_MAX}"


def checked() -> Iterator[tuple[Path, Callable[[Path], Iterator[str]]]]:
    """Yield each file that is checked, and the function that checks it."""
    for package in CHECKED:
        for path in sorted((PROJECT_DIR / package).rglob("*.py")):
            if LEFT_OUT.isdisjoint(path.relative_to(PROJECT_DIR).parts):
                yield path, too_long
    for folder in ("templates", *(f"{package}/templates" for package in CHECKED)):
        for path in sorted((PROJECT_DIR / folder).rglob("*")):
            if path.is_file():
                yield path, wide_template
    for path in sorted((PROJECT_DIR / "static").rglob("*.js")):
        yield path, wide_template
    for folder in DOCUMENTS:
        for path in sorted((PROJECT_DIR / folder).glob("*.md")):
            yield path, wide_document


def main() -> int:
    """Print what is too long; return 1 if something is."""
    wrong = 0
    for path, check in checked():
        for what in check(path):
            print(f"{path.relative_to(PROJECT_DIR)}: {what}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
