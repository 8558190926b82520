"""Every check without tests: lint, format, types, import contracts, templates, settings.

`python -m deploy.dev.check` runs them two at a time, prints a line for each and the output of
failed ones, and exits with 1 when one failed.
"""

import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from deploy.services.service import tied
from deploy.services.site_processes import PROJECT_DIR, environment, python

AT_ONCE = 2


class Check(NamedTuple):
    """A command that exits with 0 when the check passes."""

    name: str
    argv: list[str]
    env: Mapping[str, str]


class Outcome(NamedTuple):
    """Result of a check."""

    name: str
    passed: bool
    seconds: float
    output: str


def checks(data_dir: Path) -> list[Check]:
    """Return all checks, the slow ones first."""
    plain = environment()
    embedded = {**plain, "DATA_DIR": str(data_dir)}
    production = {**embedded, **_production()}
    templates = sorted(str(path) for path in (PROJECT_DIR / "templates").rglob("*.html"))
    bin_dir = Path(sys.executable).parent
    found = [
        Check("types (mypy)", python("-m", "mypy"), embedded),
        Check("import contracts", [str(bin_dir / "lint-imports")], embedded),
        Check(
            "migrations are complete",
            python("manage.py", "makemigrations", "--check", "--dry-run"),
            embedded,
        ),
        Check(
            "migrations fit the version before",
            python("-m", "deploy.dev.migration_rules"),
            embedded,
        ),
        Check(
            "events and tasks fit the version before",
            python("-m", "deploy.dev.format_rules"),
            embedded,
        ),
        Check(
            "settings of a real site",
            python("manage.py", "check", "--deploy", "--fail-level", "WARNING"),
            production,
        ),
        Check("lint (ruff)", python("-m", "ruff", "check"), plain),
        Check("sizes (deploy.dev.sizes)", python("-m", "deploy.dev.sizes"), plain),
        Check("lock files (deploy.dev.locks)", python("-m", "deploy.dev.locks", "--check"), plain),
        Check("format (ruff)", python("-m", "ruff", "format", "--check"), plain),
    ]
    if templates:
        found.append(
            Check("templates (djhtml)", python("-m", "djhtml", "--check", *templates), plain)
        )
    return found


def _production() -> dict[str, str]:
    """Return the settings of a real site."""
    return {
        "DATABASE_URL": "mysql://site:password@127.0.0.1:1/site",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BROKER_URL": "redis://127.0.0.1:1/1",
        "SECRET_KEY": secrets.token_urlsafe(48),
        "JWT_KEYS": secrets.token_urlsafe(48),
        "ALLOWED_HOSTS": "social.example",
        "SITE_URL": "https://social.example",
        "TRUSTED_PROXIES": "1",
        "DEBUG": "0",
    }


def run(check: Check) -> Outcome:
    """Run one check and print a line about it, with its output when it failed."""
    began = time.monotonic()
    done = subprocess.run(
        [*tied(), *check.argv],
        env=dict(check.env),
        cwd=PROJECT_DIR,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    outcome = Outcome(check.name, not done.returncode, time.monotonic() - began, done.stdout)
    word = "ok    " if outcome.passed else "FAILED"
    text = f"{word}  {outcome.name}  ({outcome.seconds:.1f} s)"
    if not outcome.passed:
        text += "\n" + "".join(f"    {line}\n" for line in outcome.output.splitlines())
    print(text, flush=True)
    return outcome


def run_all() -> bool:
    """Run every check. Returns whether all passed."""
    with (
        tempfile.TemporaryDirectory(prefix="socialsite-check-") as data_dir,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        outcomes = list(pool.map(run, checks(Path(data_dir))))
    failed = [outcome.name for outcome in outcomes if not outcome.passed]
    print(f"Checks failed: {', '.join(failed)}" if failed else "All checks passed", flush=True)
    return not failed


if __name__ == "__main__":
    sys.exit(0 if run_all() else 1)
