"""The last report of this process, and its summary for all processes in `DATA_DIR/doctor.json`.

A report is kept for KEPT_SECONDS, so that the page of the admin does not run the checks for each
reader. It is kept in the process, because Redis may be what is wrong.
"""

import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from socialsite.core.staff_home.tiles import CALLS, CALM, UNKNOWN, Figure, ago
from socialsite.doctor import running
from socialsite.doctor.contents import CHECKS
from socialsite.doctor.findings import ERROR, LEVELS, WARNING, Check, Finding, worst

logger = logging.getLogger(__name__)

FILE = "doctor.json"
KEPT_SECONDS = 60.0


class Report(NamedTuple):
    """The findings of all checks in one language."""

    made_at: datetime
    results: list[tuple[Check, list[Finding]]]

    @property
    def by_urgency(self) -> list[tuple[Check, list[Finding]]]:
        """The checks, those with errors first."""
        return sorted(self.results, key=lambda one: -LEVELS.index(worst(one[1])))


# Language → the time by `time.monotonic` and the report.
_kept: dict[str | None, tuple[float, Report]] = {}
_running = threading.Lock()


def current() -> Report:
    """Return a report in the language of the reader; run the checks if the last one is too old."""
    language = get_language()
    with _running:  # whoever waits gets the report of the one before
        made, report = _kept.get(language, (0.0, None))
        if report is not None and time.monotonic() - made < KEPT_SECONDS:
            return report
        report = Report(timezone.now(), list(running.run(CHECKS)))
        _kept[language] = time.monotonic(), report
    summarise(finding for _check, findings in report.results for finding in findings)
    return report


def forget() -> None:
    """Let the next reader run the checks again."""
    _kept.clear()


def summarise(findings: Iterable[Finding]) -> None:
    """Store how many findings there are of each level. Logs what prevents it.

    A command that another account runs, such as root, leaves no file that the site cannot read.
    """
    levels = [finding.level for finding in findings]
    counts = {level: levels.count(level) for level in LEVELS}
    folder = Path(settings.DATA_DIR)
    try:
        if folder.stat().st_uid != os.geteuid():
            return
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=FILE, delete=False) as draft:
            json.dump({"at": round(time.time() * 1000), **counts}, draft)
        Path(draft.name).replace(folder / FILE)
    except OSError as error:
        logger.warning("summary of the checks not stored: %s", error)


class Summary(NamedTuple):
    """How many findings of the last report call for somebody, and when it was made, Unix ms."""

    errors: int
    warnings: int
    made_at: int


def last() -> Summary | None:
    """Return the summary of the last report, None if there was none."""
    try:
        known = json.loads((Path(settings.DATA_DIR) / FILE).read_text())
        return Summary(int(known[ERROR]), int(known[WARNING]), int(known["at"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def figure() -> Figure:
    """Return the figure of the tile: how many findings of the last report call for somebody."""
    summary = last()
    if summary is None:
        return Figure("–", _("There was no check yet."), UNKNOWN)
    errors, warnings, made_at = summary
    text = _("Errors: %(errors)d, warnings: %(warnings)d. The check was %(time)s ago.") % {
        "errors": errors,
        "warnings": warnings,
        "time": ago(made_at),
    }
    return Figure(str(errors + warnings), text, CALLS if errors else CALM)
