"""A scratch copy of the tree, and runs of pytest in it.

The runs use the services of the trial. `deploy.dev.trials` starts MariaDB with a database of the
tests that has all migrations, so a run begins after a few seconds.
"""

import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from deploy.services.service import tied
from deploy.services.site_processes import PROJECT_DIR, python

PASSED, FAILED = 0, 1  # exit codes of pytest
# Errors of code that does not run at all: a test that fails with one of them proves nothing.
BROKEN = ("ImportError", "IndentationError", "ModuleNotFoundError", "NameError", "SyntaxError")
# Nothing is remembered from run to run. The first failure is enough.
ALWAYS = ("-p", "no:cacheprovider", "-q", "-x", "--timeout=120")
# As in `make test`: a full disk of this machine fails no test, and no other site is asked.
SETTINGS = {"MEDIA_MIN_FREE_PERCENT": "0", "LINK_PREVIEWS": "0"}


class Run(NamedTuple):
    """The result of a run: pytest's exit code, the first test that failed, and how it failed."""

    code: int
    test: str
    message: str
    seconds: float
    output: str

    @property
    def passed(self) -> bool:
        """True if all tests passed."""
        return self.code == PASSED

    @property
    def noticed(self) -> bool:
        """True if a test failed, and not because of an error in a fixture or broken code."""
        return self.code == FAILED and bool(self.test) and not self.message.startswith(BROKEN)


def copy(target: Path) -> None:
    """Copy the files that git tracks, as they are now, and link the virtual environment."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=PROJECT_DIR,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in listed.stdout.split("\0"):
        source = PROJECT_DIR / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    (target / ".venv").symlink_to((PROJECT_DIR / ".venv").resolve())


def run(tree: Path, tests: Sequence[str]) -> Run:
    """Run some tests in the copy until one fails."""
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    # Tests of budgets need them; the trials lift them.
    env = {key: value for key, value in os.environ.items() if key != "BUDGETS"} | SETTINGS
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603
        [*tied(), *python("-m", "pytest", *ALWAYS, f"--junit-xml={report}", *tests)],
        cwd=tree,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    test, message = _first_failure(report)
    return Run(done.returncode, test, message, time.monotonic() - began, done.stdout)


def _first_failure(report: Path) -> tuple[str, str]:
    """Return the name of the first test whose body failed, and its message; else empty texts."""
    if not report.exists():
        return "", ""
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  (our own file)
        if (failure := case.find("failure")) is not None:
            return case.get("name", ""), failure.get("message", "")
    return "", ""
