"""`make audit` calls packages clean only when one database covers all of them."""

import json
import sys
from pathlib import Path

import pytest

from deploy.dev import audit

pytestmark = pytest.mark.once

KNOWN = {"name": "django", "version": "5.2", "vulns": []}
SKIPPED = {"name": "jinja2", "skip_reason": "Dependency not found on PyPI"}
VULNERABLE = {
    "name": "pillow",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["1.1"]}],
}


def stand_in(folder: Path, **reports: list[dict] | None) -> str:
    """Create a stand-in for pip-audit that prints the report of the requested database.

    A database without a report is unreachable.
    """
    path = folder / "pip-audit"
    answers = {name: json.dumps({"dependencies": rows}) for name, rows in reports.items() if rows}
    path.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"answers = {answers!r}\n"
        "database = sys.argv[sys.argv.index('--vulnerability-service') + 1]\n"
        "print(answers[database]) if database in answers else sys.exit('Name does not resolve')\n"
    )
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    ("pypi", "osv", "code", "said"),
    [
        ([KNOWN], None, 0, "1 packages checked at PyPI: no known vulnerability."),
        ([KNOWN, SKIPPED], [KNOWN], 0, "checked at OSV: no known vulnerability."),
        (None, [KNOWN], 0, "checked at OSV: no known vulnerability."),
        ([KNOWN, VULNERABLE], None, 1, "pillow 1.0: PYSEC-1 (CVE-1), fixed in 1.1"),
        ([SKIPPED, VULNERABLE], None, 1, "pillow 1.0: PYSEC-1"),
        ([SKIPPED], [VULNERABLE], 1, "OSV lists vulnerabilities of locked packages"),
        ([SKIPPED], None, 3, "NOT AUDITED"),
        ([KNOWN, SKIPPED], [SKIPPED], 3, "PyPI does not know 1 packages: jinja2"),
        (None, None, 3, "OSV did not answer: Name does not resolve"),
    ],
)
def test_the_exit_code_shows_whether_all_packages_are_clean(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pypi: list[dict] | None,
    osv: list[dict] | None,
    code: int,
    said: str,
) -> None:
    assert audit.audit([], stand_in(tmp_path, pypi=pypi, osv=osv)) == code
    assert said in capsys.readouterr().out
