"""`manage.py doctor`: checks a running site and says in words what is wrong and what to do."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import translation
from django.utils.translation import gettext_lazy

from socialsite.doctor import reports, running
from socialsite.doctor.checks import mail
from socialsite.doctor.contents import CHECKS
from socialsite.doctor.findings import ERROR, OK, WARNING, Check, Finding, worst


class Command(BaseCommand):
    """Prints one line for each finding; exits with 1 if one of them is an error."""

    help = "Check the site and its services, and say what to do."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Choose the form of the output, and what fails."""
        parser.add_argument("--json", action="store_true", help="print JSON, for programs")
        parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
        parser.add_argument("--mail", metavar="ADDRESS", help="also send one mail there")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the checks in English, and print each when it is done."""
        checks = list(CHECKS)
        if address := options["mail"]:
            title = gettext_lazy("A mail to you")
            checks.append(Check("test_mail", title, lambda: mail.send(address)))
        found: list[Finding] = []
        with translation.override("en"):
            for check, findings in running.run(checks):
                found += findings
                if not options["json"]:
                    self._print(check, findings)
        if options["json"]:
            rows = [finding._asdict() for finding in found]
            self.stdout.write(json.dumps({"level": worst(found), "findings": rows}, indent=2))
        reports.summarise(found)
        levels = {finding.level for finding in found}
        if ERROR in levels or (options["strict"] and WARNING in levels):
            sys.exit(1)

    def _print(self, check: Check, findings: list[Finding]) -> None:
        styles = {OK: self.style.SUCCESS, WARNING: self.style.WARNING, ERROR: self.style.ERROR}
        title = str(check.title)
        for finding in findings:
            level = styles.get(finding.level, self.style.NOTICE)(f"{finding.level:<7}")
            self.stdout.write(f"{title:<20} {level} {finding.text}")
            if finding.advice:
                self.stdout.write(f"{'':<28} → {finding.advice}")
            title = ""
