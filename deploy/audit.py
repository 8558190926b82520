"""`make audit`: look every locked package up in a database of known vulnerabilities.

pip-audit asks PyPI's database, and OSV where PyPI's does not answer for every package. The exit
code is 0 only when every package was looked up and none has a known vulnerability, 1 when one has,
and 3 when no database answered for all of them: pip-audit itself calls packages clean that it could
not look up. (make shows the code in its last line, and ends with 2 for every code but 0.)

`make audit` also writes `sbom.cdx.json`, the components of the full stack with their hashes in the
format CycloneDX, which needs no network. ARGS go to pip-audit: ARGS="--ignore-vuln ID" for a
vulnerability that does not concern this project.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from deploy.locks import LOCK_DIR, PROJECT_DIR

DATABASES = {"pypi": "PyPI", "osv": "OSV"}
LOCKS = ("dev", "build", "tools")  # dev has all of base and stack
SBOM = "sbom.cdx.json"
CLEAN, VULNERABLE, NOT_AUDITED = 0, 1, 3


class Answer(NamedTuple):
    """The answer of one database: packages by name, a line for each vulnerability."""

    known: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    vulnerable: frozenset[str] = frozenset()
    failure: str = ""

    def and_of(self, other: "Answer") -> "Answer":
        """Return the answer for the packages of both."""
        return Answer(
            self.known | other.known,
            self.unknown | other.unknown,
            self.vulnerable | other.vulnerable,
            self.failure or other.failure,
        )


def tool(name: str) -> str:
    """Return the path of a program beside the Python that runs this."""
    return str(Path(sys.executable).with_name(name))


def read(report: str, complaints: str) -> Answer:
    """Return the answer that pip-audit's JSON report has; its last complaint when it has none."""
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
            f" mended in {', '.join(found['fix_versions']) or 'no version yet'}"
            for package in packages
            for found in package.get("vulns", ())
        ),
    )


def ask(database: str, arguments: list[str], program: str) -> Answer:
    """Look every locked package up in one database, file by file until one gets no answer."""
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
    """Ask the databases in turn until one knows all packages; print the result, return the code."""
    for database, name in DATABASES.items():
        answer = ask(database, arguments, program)
        if answer.vulnerable:
            print(f"{name} knows vulnerabilities of locked packages:")
            print("".join(f"    {line}\n" for line in sorted(answer.vulnerable)), end="")
            return VULNERABLE
        if answer.failure:
            print(f"{name} gave no answer: {answer.failure}")
        elif answer.unknown or not answer.known:
            some = ", ".join(sorted(answer.unknown)[:5])
            print(f"{name} knows nothing of {len(answer.unknown)} packages: {some} ...")
        else:
            print(f"{len(answer.known)} packages looked up at {name}: no known vulnerability.")
            return CLEAN
    print("NOT AUDITED: no database of vulnerabilities answered for every package from here.")
    print("Run `make audit` again where pypi.org or api.osv.dev can be reached.")
    return NOT_AUDITED


def write_sbom() -> None:
    """Write the list of components of the full stack, the same for the same lock file."""
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
