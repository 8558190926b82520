"""`make lighthouse`: the scores of Lighthouse for the most visited pages, on phone and desktop.

It installs Lighthouse from npm as `deploy/dev/npm/package-lock.json` locks it, into the venv of the
tools, starts the site in one process with demo data in a temporary directory, and measures each
page in Debian's Chromium. It prints the scores and exits with 1 if one is below its goal. Run it on
an idle machine, as Lighthouse measures times.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

from deploy.services.service import free_port
from deploy.services.site_processes import PROJECT_DIR
from socialsite.tests import stacks
from socialsite.tests.browser.catalogue import VIEWS, Catalogue, View, demo_site

LOCKED = PROJECT_DIR / "deploy" / "dev" / "npm"
TOOLS = PROJECT_DIR / ".venv" / "tools"
NAMES = ("welcome-guest", "login", "home", "post", "profile")
GOALS = {"performance": 95, "accessibility": 98, "best-practices": 98, "seo": 98}
DEVICES = {"phone": (), "desktop": ("--preset=desktop",)}


def main() -> int:
    """Measure the pages, and print the scores that miss their goals."""
    parser = argparse.ArgumentParser(description="The scores of Lighthouse.")
    parser.add_argument("--views", default=",".join(NAMES), help="names of views, with commas")
    parser.add_argument("--reports", type=Path, help="a directory for the reports in JSON")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    views = [view for view in VIEWS if view.name in options.views.split(",")]
    missed: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="socialsite-lighthouse-") as folder,
        demo_site(Path(folder) / "data", 60, 300) as site,
        stacks.browser(stacks.CHROMIUM) as browser,
    ):
        program = _installed()
        catalogue = Catalogue(site, browser)
        for view in views:
            for device, preset in DEVICES.items():
                report = _measured(program, catalogue, view, preset)
                missed += _described(report, view, device)
                if options.reports:
                    options.reports.mkdir(parents=True, exist_ok=True)
                    file = options.reports / f"{view.name}-{device}.json"
                    file.write_text(json.dumps(report))
    print("\n".join(missed) or "all goals are reached")
    return 1 if missed else 0


def _installed() -> Path:
    """Install Lighthouse unless the locked version is there; return its program."""
    folder = TOOLS / "npm"
    program = folder / "node_modules" / ".bin" / "lighthouse"
    lock = "package-lock.json"
    there = folder / lock
    if not (program.exists() and there.read_bytes() == (LOCKED / lock).read_bytes()):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", lock):
            shutil.copy(LOCKED / name, folder)
        command = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        subprocess.run(command, cwd=folder, env=_env(), check=True)
    return program


def _env() -> dict[str, str]:
    """Return an environment in which `node` is the locked one."""
    path = f"{TOOLS / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


def _measured(
    program: Path, catalogue: Catalogue, view: View, preset: tuple[str, ...]
) -> dict[str, Any]:
    """Return the report of one page, in a new Chromium with the cookies of who sees it."""
    port = free_port()
    command = [str(program), f"{catalogue.site}{catalogue.path(view)}", "--quiet", *preset]
    command += ["--output=json", "--only-categories=" + ",".join(GOALS)]
    command += [f"--port={port}", "--disable-storage-reset"]
    with tempfile.TemporaryDirectory(prefix="socialsite-lighthouse-") as profile:
        context = catalogue.browser.browser_type.launch_persistent_context(
            profile,
            executable_path=stacks.CHROMIUM,
            args=[*stacks.CHROMIUM_FLAGS, f"--remote-debugging-port={port}"],
        )
        try:
            context.add_cookies(catalogue.cookies(view.by))
            done = subprocess.run(command, env=_env(), stdout=subprocess.PIPE, check=True)
        finally:
            context.close()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def _described(report: dict[str, Any], view: View, device: str) -> list[str]:
    """Print the scores of a page; return those below their goals, with what costs them."""
    found = {name: round(100 * report["categories"][name]["score"]) for name in GOALS}
    shift = report["audits"]["cumulative-layout-shift"]["numericValue"]
    scores = ", ".join(f"{name} {score}" for name, score in found.items())
    print(f"{view.name}, {device}: {scores}, layout shift {shift:.3f}", flush=True)
    missed = [
        f"{view.name}, {device}: {name} {score}, goal {GOALS[name]}: {_costs(report, name)}"
        for name, score in found.items()
        if score < GOALS[name]
    ]
    if round(shift, 3):
        missed.append(f"{view.name}, {device}: the layout shifts by {shift:.3f}")
    return missed


def _costs(report: dict[str, Any], category: str) -> str:
    """Return the audits of a category that are not passed."""
    weighted = report["categories"][category]["auditRefs"]
    failed = [
        ref["id"]
        for ref in weighted
        if ref["weight"] and (report["audits"][ref["id"]]["score"] or 0) < 0.9
    ]
    return ", ".join(failed)


if __name__ == "__main__":
    sys.exit(main())
