"""A plugin of pytest that leaves out files which cannot have a test of the pass.

Importing a module of tests takes long, above all at first. `-p deploy.dev.selection` ignores files
of tests that contain none of the words of the variable, which are names of marks.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "TEST_WORDS"
TEST_FILE = re.compile(r"test_\w+\.py")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore a file without one of the words; pytest asks about folders too."""
    words = os.environ.get(VARIABLE, "").split()
    if TEST_FILE.fullmatch(collection_path.name) and not may_have_tests([collection_path], words):
        return True
    return None


def files(arguments: Sequence[str]) -> list[Path]:
    """Return the files of tests that pytest's arguments name; none if they name a folder."""
    paths = [Path(word.partition("::")[0]) for word in arguments]
    found = [path for path in paths if path.exists()]
    return found if all(path.is_file() for path in found) else []


def may_have_tests(paths: Sequence[Path], words: Sequence[str]) -> bool:
    """Return whether one of the files contains one of the words; True without files or words."""
    if not (paths and words):
        return True
    return any(word in path.read_text() for path in paths for word in words)
