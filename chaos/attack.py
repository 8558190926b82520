"""An attack on running sites: `make chaos ARGS="attack --requests 100000"`.

The program starts whole sites on loopback, in one process and as the stack with nginx in front, in
several configurations; in the last one Redis is killed on the way. Each site is tested with: access
by ten viewers to every address with every method, before and after a block, a ban and a deletion;
forged tokens; hostile pictures; texts of every script, and texts that slow parsers down; requests
that no client sends; and a fuzz of API and pages by people whose sessions are valid and renewed.

It exits with 1 after a server error, a response that takes over two seconds, a leak to a viewer
without access, a traceback in a log, or a response of the API that the OpenAPI document does not
describe. It also does so if less than 30 % of the fuzz's writes were accepted, as the fuzz then
tested too little. Findings are printed with a request that reproduces
them, and kept in a file.
"""

import argparse
import contextlib
import os
import subprocess
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from bench.support import harness
from deploy.services.site_processes import PROJECT_DIR

if TYPE_CHECKING:
    from chaos.campaign.course import Course

SHARE_PERCENT = 30
FORGED, PICTURES = 600, 400
FINDINGS = PROJECT_DIR / "data" / "attack-findings.jsonl"
KINDS = {
    "5xx": "5xx, or no answer",
    "slow": "over 2 s",
    "leak": "leaks",
    "traceback": "tracebacks in logs",
    "document": "not as documented",
    "control": "should have worked",
}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    from chaos.campaign.course import PARTS
    from chaos.campaign.site.sites import CONFIGURATIONS, MODES

    names = tuple(dict.fromkeys(one.name for one in CONFIGURATIONS))
    parser = argparse.ArgumentParser(
        description="An attack on running sites.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=20_000, help="of the fuzz on all sites")
    parser.add_argument("--minutes", type=float, default=60, help="maximum of the fuzz, each site")
    parser.add_argument("--mode", choices=(*MODES, "both"), default="both")
    parser.add_argument("--config", choices=(*names, "each"), default="each")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to run, in order")
    parser.add_argument("--clients", type=int, default=4, choices=range(1, 9), help="fuzz threads")
    parser.add_argument("--share", type=float, default=1.0, help="share of all parts but the fuzz")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices")
    parser.add_argument("--findings", type=Path, default=FINDINGS, help="the file for the findings")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    options = parser.parse_args()
    options.parts = tuple(options.parts.split(","))
    if set(options.parts) - set(PARTS):
        parser.error(f"the parts are {', '.join(PARTS)}")
    return options


def main() -> int:
    """Attack all selected sites, and report the results."""
    harness.setup()
    from chaos.campaign import journal as journals
    from chaos.campaign.course import Course, Plan
    from chaos.campaign.site.sites import CONFIGURATIONS, running

    options = arguments()
    report = harness.Report("attack", options)
    chosen = [
        one
        for one in CONFIGURATIONS
        if options.mode in (one.mode, "both") and options.config in (one.name, "each")
    ]
    if not chosen:
        report.say("there is no such configuration of this mode")
        return 2
    each = max(1, options.requests // len(chosen))
    plan = Plan(
        requests=each,
        seconds=options.minutes * 60,
        seed=options.seed,
        clients=options.clients,
        share=options.share,
        parts=options.parts,
        forged=max(20, round(FORGED * options.share)),
        pictures=max(20, round(PICTURES * options.share)),
    )
    courses: list[Course] = []
    try:
        for configuration in chosen:
            with contextlib.ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attack-")))
                folder.chmod(0o711)  # the services may run under another account
                database = os.environ.get("DATABASE_URL", "")
                site = stack.enter_context(
                    running(configuration, folder / "site", plan.staff(), database)
                )
                courses.append(Course(site, journals.Journal(site, report.say), plan))
                attacked(report, courses[-1])
    finally:
        found = [one for course in courses for one in course.journal.findings]
        journals.keep(options.findings, found)
        report.say(f"\n{len(found)} findings are in {options.findings}")
    return judged(report, courses)


def attacked(report: harness.Report, course: "Course") -> None:
    """Attack one site; if a campaign fails there, this is a finding, and the others continue."""
    configuration = course.site.configuration
    report.say(f"\n## {configuration.title}: {configuration.env}")
    try:
        course.run()
    except Exception:
        course.journal.find("control", "course", f"ended early: {traceback.format_exc()}")
    described(report, course)


def described(report: harness.Report, course: "Course") -> None:
    """Print the figures of one site."""
    counts, after = course.journal.counts, course.site.memory()
    rows = [[name, count] for name, count in course.journal.parts.items()]
    rows += [[f"cells, {state}", count] for state, count in course.cells.items()]
    rows += [["writes of the fuzz", counts["writes"]], ["accepted, %", f"{accepted(counts):.1f}"]]
    rows += [[name, counts[name]] for name in ("unavailable", "slow once", *KINDS)]
    report.rows(rows, [course.site.configuration.title, "n"])
    memory = [
        [name, f"{before[0]:.0f}", f"{after[name][0]:.0f}", f"{after[name][1]:.0f}"]
        for name, before in course.memory.items()
        if name in after
    ]
    report.rows(memory, ["process", "MB before", "MB after", "MB at most, one"])
    for note in course.notes:
        report.say(f"- {note}")
    for what, count in course.journal.refused.most_common(12):
        report.say(f"- refused {count} times: {what}")


def judged(report: harness.Report, courses: "list[Course]") -> int:
    """Print the figures of all sites, and compare them with their goals."""
    tallies = {course.site.configuration.title: course.journal.counts for course in courses}
    whole = sum(tallies.values(), Counter[str]())
    figures = [
        [name, counts["tried"], *(counts[kind] for kind in KINDS), f"{accepted(counts):.1f}"]
        for name, counts in (*tallies.items(), ("all", whole))
    ]
    head = ["site", "requests", *KINDS.values(), "writes accepted, %"]
    report.rows(figures, head, title=f"As of {commit()}, seed {report.options.seed}")
    for kind, words in KINDS.items():
        report.goal(words, whole[kind], exactly=0)
    if whole["writes"]:
        words = "writes of the fuzz that were accepted, %"
        report.goal(words, accepted(whole), at_least=SHARE_PERCENT)
    return report.finish()


def accepted(counts: "Counter[str]") -> float:
    """Return the percentage of accepted writes of the fuzz."""
    return 100 * counts["accepted"] / max(1, counts["writes"])


def commit() -> str:
    """Return the current commit, and whether there are uncommitted changes."""
    command = ("git", "describe", "--always", "--dirty=, with changes")
    # The command contains no user input.
    done = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, text=True)  # noqa: S603
    return done.stdout.strip() or "no commit"


if __name__ == "__main__":
    raise SystemExit(main())
