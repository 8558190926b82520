"""`make audit`: checks every locked package against a database of known vulnerabilities.

pip-audit queries PyPI's database, then OSV if PyPI's does not cover every package. The exit code is
0 only when every package was checked and none has a known vulnerability, 1 when one has, and 3 when
no database covered all of them: pip-audit itself calls packages clean that it could not check.
(make prints the code in its last line, and exits with 2 for every code but 0.)

`make audit` also writes `sbom.cdx.json`, the components of the full stack with their hashes in the
CycloneDX format, without a network. ARGS go to pip-audit: ARGS="--ignore-vuln ID" for a
vulnerability that does not concern this project.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from deploy.dev.locks import LOCK_DIR, PROJECT_DIR

DATABASES = {"pypi": "PyPI", "osv": "OSV"}
LOCKS = ("dev", "build", "tools")  # dev includes base and stack
SBOM = "sbom.cdx.json"
CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 3


class Answer(NamedTuple):
    """Answer of one database: packages by name, one line for each vulnerability."""

    known: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    vulnerable: frozenset[str] = frozenset()
    failure: str = ""

    def and_of(self, other: "Answer") -> "Answer":
        """Merge this answer with the answer for other packages."""
        return Answer(
            self.known | other.known,
            self.unknown | other.unknown,
            self.vulnerable | other.vulnerable,
            self.failure or other.failure,
        )


def tool(name: str) -> str:
    """Return the path of a program in the same folder as the running Python."""
    return str(Path(sys.executable).with_name(name))


def read(report: str, complaints: str) -> Answer:
    """Return the answer in pip-audit's JSON report; without a report, its last error line."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        lines = complaints.strip().splitlines()
        return Answer(failure=lines[-1] if lines else "pip-audit printed nothing")
    return Answer(
        frozenset(package["name"] for package in packages if "skip_reason" not in package),
        frozenset(package["name"] for package in packages if "skip_reason" in package),
        frozenset(
            f"{package['name']} {package['version']}: {found['id']}"
            f" ({', '.join(found['aliases']) or 'no other name'}),"
            f" fixed in {', '.join(found['fix_versions']) or 'no version yet'}"
            for package in packages
            for found in package.get("vulns", ())
        ),
    )


def ask(database: str, arguments: list[str], program: str) -> Answer:
    """Check every locked package in one database, file by file until one file gets no answer."""
    answer = Answer()
    for name in LOCKS:
        done = subprocess.run(
            [
                *(program, "--vulnerability-service", database, "--format", "json"),
                *("--disable-pip", "--require-hashes", "--progress-spinner", "off"),
                *("--requirement", f"{LOCK_DIR}/{name}.txt", *arguments),
            ],
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        answer = answer.and_of(read(done.stdout, done.stderr))
        if answer.failure:
            break
    return answer


def audit(arguments: list[str], program: str) -> int:
    """Query the databases in turn until one covers all packages; print and return the result."""
    for database, name in DATABASES.items():
        answer = ask(database, arguments, program)
        if answer.vulnerable:
            print(f"{name} lists vulnerabilities of locked packages:")
            print("".join(f"    {line}\n" for line in sorted(answer.vulnerable)), end="")
            return VULNERABLE
        if answer.failure:
            print(f"{name} did not answer: {answer.failure}")
        elif answer.unknown or not answer.known:
            some = ", ".join(sorted(answer.unknown)[:5])
            print(f"{name} does not know {len(answer.unknown)} packages: {some} ...")
        else:
            print(f"{len(answer.known)} packages checked at {name}: no known vulnerability.")
            return CLEAN
    print("NOT AUDITED: no vulnerability database covered every package.")
    print("Run `make audit` again on a machine that reaches pypi.org or api.osv.dev.")
    return NOT_AUDITED


def write_sbom() -> None:
    """Write the components of the full stack; the same lock file gives the same output."""
    subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements"),
            *("--pyproject", "pyproject.toml", "--output-reproducible", "--output-format", "JSON"),
            *("--output-file", SBOM, f"{LOCK_DIR}/stack.txt"),
        ],
        cwd=PROJECT_DIR,
        check=True,
    )
    print(f"{SBOM} lists the components of the full stack (CycloneDX).")


if __name__ == "__main__":
    write_sbom()
    sys.exit(audit(sys.argv[1:], tool("pip-audit")))
