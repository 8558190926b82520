"""The documents of the repository, and the tests that they cite."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
# A test as the documents cite it: `path::test_name` or `path::Class::test_name`.
CITED_TEST = re.compile(r"`((?:\w+/)+test_\w+\.py)((?:::\w+)+)`")

# Folders whose content does not belong to the project.
_FOREIGN = {"data", "node_modules", "vendor", "locale", "lock", "__pycache__"}
_TEXTS = {".py", ".lua", ".js", ".css", ".html", ".txt", ".md", ".sh", ".toml", ".yaml", ".tmpl"}


@functools.cache
def names_of(path: str) -> frozenset[str]:
    """Return the tests of a module as they are cited; tests of a class also without it."""
    found: set[str] = set()

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}::{node.name}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.update((f"{prefix}::{node.name}", f"::{node.name}"))

    walk(ast.parse((ROOT / path).read_text()).body, "")
    return frozenset(found)


def is_test(path: str, name: str) -> bool:
    """Return whether a cited test exists; `name` begins with the two colons."""
    return (ROOT / path).exists() and name in names_of(path)


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the relative path and the content of each text file of the project."""
    for path in _walk(ROOT):
        if path.suffix in _TEXTS or path.name == "Makefile":
            yield path.relative_to(ROOT), path.read_text()


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in _FOREIGN and not path.name.startswith("."):
            yield from _walk(path)
        elif path.is_file() and not path.name.startswith("."):
            yield path
