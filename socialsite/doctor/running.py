"""Runs all checks one after the other; no check can end the run.

Each connection of a check has a time-out of its own. When BUDGET_SECONDS are over, the remaining
checks are not started, so a site with several dead services is reported within half a minute.
"""

import logging
import time
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from socialsite.core.runtime.redaction import redact
from socialsite.doctor.findings import Check, Finding, unknown

logger = logging.getLogger(__name__)

BUDGET_SECONDS = 25.0
REASON_MAX = 300


def run(
    checks: Sequence[Check], seconds: float = BUDGET_SECONDS
) -> Iterator[tuple[Check, list[Finding]]]:
    """Yield each check with its findings, at least one, as soon as it is done."""
    end = time.monotonic() + seconds
    failures = set[str]()
    for check in checks:
        if time.monotonic() < end:
            findings = _findings(check, failures)
        else:
            text = _("This was not checked, because the checks before took too long.")
            findings = [unknown(text, _("Correct what they report, then run the checks again."))]
        yield check, [finding._replace(check=check.name) for finding in findings]


def _findings(check: Check, failures: set[str]) -> list[Finding]:
    """Return what a check finds; why it failed goes to `failures`, and is told once."""
    found: list[Finding] = []
    try:
        found.extend(check.run())
    except Exception as error:  # whatever a broken service makes a library raise
        logger.debug("check %s failed", check.name, exc_info=True)
        reason = redact(f"{type(error).__name__}: {error}")[:REASON_MAX]
        text = _("This could not be checked: %(reason)s") % {"reason": reason}
        advice = _("Check that the service runs and that its settings are right.")
        if reason in failures:
            text, advice = _("This could not be checked either, for the same reason."), ""
        failures.add(reason)
        found.append(unknown(text, advice))
    return found
