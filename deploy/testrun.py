"""`make test`: runs the checks, then every test in both modes, on throw-away services.

`python -m deploy.testrun [pytest arguments]` runs three passes of pytest in parallel, each with two
processes: the tests on MariaDB and Redis ("full stack"), those marked `embedded` with no service
configured ("embedded"), and those marked `e2e`, which start whole sites of their own ("sites").
Each process of the full stack has a MariaDB and two Redis of its own, in a private temporary
directory on free ports. `embedded` yields to the others. It always stops and removes everything,
also after a failure, Ctrl-C or SIGTERM. With arguments the checks are skipped. The last line of the
output is a summary in pytest's form, the sum of all passes; the lines before it give each pass.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy import check, timings
from deploy.services import migrated, per_process, site_processes
from deploy.services.service import ServiceError, tied
from deploy.services.throwaway import throw_away_services
from deploy.stack import SERVICE_URLS, StopSignal, stop_on_signals

NO_TESTS = 5  # pytest's exit code for an empty selection
GRACE_SECONDS = 30
NICENESS = "10"  # a ninth of the processor time of other processes
# Tests that start a whole site of their own do not use the services of the run.
ON_SERVICES = "(full or not e2e) and not chaos and not once"
WITHOUT = "embedded and not full and not chaos"
SITES = "e2e and not (full or embedded or chaos)"
PROCESSES = 2
OWN_SERVICES = ("-p", per_process.__name__)
TIMED = ("-p", timings.__name__)
AT_ONCE = ("-p", "no:cacheprovider", f"--numprocesses={PROCESSES}", "--dist=loadfile")


@dataclass(frozen=True)
class Result:
    """Counts of one or more pytest passes; seconds of wall time."""

    failed: int = 0
    passed: int = 0
    skipped: int = 0
    errors: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Result") -> "Result":
        return Result(
            self.failed + other.failed,
            self.passed + other.passed,
            self.skipped + other.skipped,
            self.errors + other.errors,
            self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        counts = {
            "failed": self.failed,
            "passed": self.passed,
            "skipped": self.skipped,
            "error" if self.errors == 1 else "errors": self.errors,
        }
        words = [f"{count} {word}" for word, count in counts.items() if count]
        return f"{', '.join(words) or 'no tests ran'} in {self.seconds:.2f}s"


def read_report(path: Path) -> Result:
    """Return the counts of pytest's JUnit report; one error when there is none."""
    try:
        suite = ElementTree.parse(path).getroot().find("testsuite")  # noqa: S314  (our own file)
    except (OSError, ElementTree.ParseError):
        return Result(errors=1)
    if suite is None:
        return Result(errors=1)
    tests, failed, errors, skipped = (
        int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
    )
    passed = max(tests - failed - errors - skipped, 0)
    return Result(failed, passed, skipped, errors, float(suite.get("time", "0")))


@dataclass
class Pass:
    """One run of pytest; with `output`, its output is written there and printed at the end.

    A pass that yields gets less of the processors than the others while they need them.
    """

    title: str
    env: Mapping[str, str]
    report: Path
    arguments: Sequence[str]
    output: Path | None = None
    yields: bool = False
    cpu: float = field(default=0.0, init=False)
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    def start(self) -> None:
        """Start pytest."""
        if self.output is None:
            print(f"\n--- {self.title} ---", flush=True)
        with contextlib.ExitStack() as stack:
            target = stack.enter_context(self.output.open("wb")) if self.output else None
            pytest = site_processes.python("-m", "pytest", f"--junit-xml={self.report}")
            first = ["nice", "-n", NICENESS] if self.yields else []
            self.process = subprocess.Popen(
                [*tied(), *first, *pytest, *self.arguments],
                env=dict(self.env),
                cwd=site_processes.PROJECT_DIR,
                stdout=target,
                stderr=subprocess.STDOUT if target else None,
            )

    def finish(self) -> tuple[int, Result]:
        """Wait for the end, print the stored output; returns the exit code and the counts."""
        _pid, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = code = os.waitstatus_to_exitcode(status)
        self.cpu = used.ru_utime + used.ru_stime
        if self.output is not None:
            print(f"\n--- {self.title} ---\n{self.output.read_text(errors='replace')}", flush=True)
        return code, read_report(self.report)

    def end(self) -> None:
        """Make sure that pytest has ended; after Ctrl-C it stops its tests' processes itself."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_SECONDS)
            self.process.kill()
            self.process.wait()


def run_passes(passes: Sequence[Pass]) -> list[tuple[int, Result]]:
    """Run the passes in parallel; return their exit codes and results."""
    with contextlib.ExitStack() as stack:
        for one in passes:
            one.start()
            stack.callback(one.end)
        return [one.finish() for one in passes]


def _stack(running: contextlib.ExitStack, directory: Path) -> dict[str, str]:
    """Start services in a directory of their own; return the environment of their process."""
    directory.mkdir(mode=0o711)
    urls = running.enter_context(throw_away_services(directory))
    return {**urls, "DATA_DIR": str(directory / "data")}


def run(arguments: Sequence[str]) -> int:
    """Run everything and return the exit code."""
    began = time.monotonic()
    checked = True if arguments else check.run_all()
    prepared = migrated.ensure()
    os.environ.update(prepared)  # for the services that start here
    inherited = {key: value for key, value in os.environ.items() if key not in SERVICE_URLS}
    with tempfile.TemporaryDirectory(prefix="socialsite-test-") as name:
        directory = Path(name)
        directory.chmod(0o711)  # services may run under another account
        # A full disk of this machine must not fail tests.
        base = {
            **inherited,
            "PYTHONUNBUFFERED": "1",
            "MEDIA_MIN_FREE_PERCENT": "0",
            "LINK_PREVIEWS": "0",
            **prepared,
        }
        with contextlib.ExitStack() as services:
            stacks = [_stack(services, directory / f"stack-{n}") for n in range(PROCESSES)]

            def one(name: str, title: str, selected: str, env: Mapping[str, str]) -> Pass:
                return Pass(
                    title,
                    {**base, "DATA_DIR": str(directory / f"data-{name}"), **env},
                    directory / f"{name}.xml",
                    [
                        "-m",
                        selected,
                        *AT_ONCE,
                        *TIMED,
                        *(OWN_SERVICES if name == "full" else ()),
                        *arguments,
                    ],
                    None if name == "full" else directory / f"{name}.log",
                    yields=name == "embedded",
                )

            own = {**stacks[0], per_process.VARIABLE: json.dumps(stacks)}
            spare = {"SPARE_DATABASE_URL": stacks[0]["DATABASE_URL"]}
            ends = run_passes(
                [
                    one("full", "full stack: MariaDB and Redis", ON_SERVICES, own),
                    one("embedded", "embedded: SQLite, Redis in the process", WITHOUT, {}),
                    one("sites", "sites of their own", SITES, spare),
                ]
            )
    good = {0, NO_TESTS} if arguments else {0}
    codes = {code for code, _result in ends}
    passed = checked and codes <= good and codes != {NO_TESTS}
    print()
    if not checked:
        print("The checks failed, see above.")
    results = [result for _code, result in ends]
    for name, result in zip(("full stack", "embedded", "sites"), results, strict=True):
        print(f"{name + ':':12}{result}")
    print(f"everything took {time.monotonic() - began:.0f} s")
    print(f" {sum(results, Result())} ".center(80, "="), flush=True)
    return 0 if passed else 1


def main() -> int:
    """Run with the pytest arguments of the command line; a signal stops everything."""
    stop_on_signals()
    try:
        return run(sys.argv[1:])
    except StopSignal as signal_name:
        print(f"{signal_name}: stopped", file=sys.stderr)
        return 130
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
