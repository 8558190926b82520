"""Whether the tests notice mistakes: `make chaos ARGS=defects`.

A scratch copy of the tree gets the defects of `chaos/deliberate/table.py`, one after the other, and
the tests that must notice each are run. Exits with 1 if a defect was not noticed, or if a test
fails in the untouched copy. `--first` and `--last` select some of the defects by number.
"""

import sys
import tempfile
import time
from pathlib import Path

from bench.support import harness
from chaos.deliberate import scratch
from chaos.deliberate.defect import Defect, MisplacedDefect
from chaos.deliberate.table import DEFECTS

SHOWN_LINES = 30


def main() -> int:
    """Put in one defect after the other, and report those that no test noticed."""
    options = harness.arguments(
        "Defects that tests must notice.", {"--first": 1, "--last": len(DEFECTS)}
    )
    report = harness.Report("defects", options)
    began = time.monotonic()
    defects = DEFECTS[options.first - 1 : options.last]
    with tempfile.TemporaryDirectory(prefix="socialsite-defects-") as name:
        tree = Path(name)
        scratch.copy(tree)
        try:
            for one in defects:
                one.check(tree)
        except MisplacedDefect as error:
            report.say(str(error))
            return 1
        untouched = scratch.run(tree, sorted({test for one in defects for test in one.tests}))
        if not untouched.passed:
            _show(report, "a test fails in the untouched copy", untouched)
            return 1
        report.say(f"the tests pass in the untouched copy, after {untouched.seconds:.0f} s")
        missed = _try_all(report, tree, defects)
    report.say(f"everything took {time.monotonic() - began:.0f} s")
    report.goal("defects that no test noticed", missed, exactly=0)
    return report.finish()


def _try_all(report: harness.Report, tree: Path, defects: tuple[Defect, ...]) -> int:
    """Try each defect; return how many were not noticed."""
    rows, missed = [], 0
    for number, one in enumerate(defects, start=report.options.first):
        with one.put_into(tree):
            found = scratch.run(tree, one.tests)
        if not found.noticed:
            missed += 1
            _show(report, f"not noticed: {one.name}", found)
        report.say(f"{number}. {one.name}: {found.test or 'NOT NOTICED'} {_line(found.message)}")
        test = found.test if found.noticed else "NOT NOTICED"
        rows.append([one.name, one.file, test, f"{found.seconds:.0f}"])
    report.rows(rows, ["defect", "file", "first test that failed", "s"])
    return missed


def _show(report: harness.Report, what: str, found: scratch.Run) -> None:
    report.say(f"{what}; pytest's exit code is {found.code}")
    report.say("\n".join(found.output.splitlines()[-SHOWN_LINES:]))


def _line(message: str) -> str:
    """Return the beginning of a message in one line."""
    return f"({' '.join(message.split())[:90]})" if message else ""


if __name__ == "__main__":
    sys.exit(main())
