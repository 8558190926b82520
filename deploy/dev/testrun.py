"""`make test`: runs the checks and the tests, on throw-away services.

`python -m deploy.dev.testrun [pytest arguments]` runs three passes of pytest in parallel: the tests
on MariaDB and Redis ("full stack"), those marked `embedded` or `once` with no service configured
("embedded"), and those marked `e2e`, which drive whole sites ("sites"). The checks run beside them,
unless there are arguments. Each process of the full stack has a MariaDB and two Redis of its own,
in a private temporary directory on free ports. `embedded` yields to the others.

It always stops and removes everything, also after a failure, Ctrl-C or SIGTERM. The output of the
checks follows that of the tests. The last line is a summary in pytest's form, the sum of all
passes; the lines before it give the seconds of each pass and the slowest tests.

`--every-mode` (`make testall`) runs every test in every mode that it can run in. With `--cluster`
the cache of the full stack is a Redis Cluster.
"""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.dev import selection, timings
from deploy.services import migrated, per_process, site_processes
from deploy.services.service import ServiceError, tied
from deploy.services.throwaway import throw_away_services
from deploy.stack import StopSignal, stop_on_signals

NO_TESTS = 5  # pytest's exit code for an empty selection
GRACE_SECONDS = 30
NICENESS = "3"  # half of the processor time of others; with 10, busy machines leave next to none
PROCESSES = 2
OWN_SERVICES = ("-p", per_process.__name__)
ALWAYS = ("-p", "no:cacheprovider", "-p", timings.__name__, "-p", selection.__name__)
EVERY_MODE = "--every-mode"
CLUSTER = "--cluster"


@dataclass(frozen=True)
class Kind:
    """The tests of one pass: those with some marks, in files with one of some words.

    A pass that yields gets less of the processors than the others while they need them.
    """

    name: str
    title: str
    marks: str
    words: tuple[str, ...] = ()
    yields: bool = False
    dist: str = "loadfile"


KINDS = (
    # Tests that drive a whole site do not use the services of the run.
    Kind("full", "full stack: MariaDB and Redis", "(full or not e2e) and not chaos and not once"),
    Kind(
        "embedded",
        "embedded: SQLite, Redis in the process",
        "embedded and not full and not chaos",
        words=("embedded", "once"),
        yields=True,
    ),
    Kind(
        "sites",
        "sites of their own",
        "e2e and not (full or embedded or chaos)",
        words=("e2e", "playwright"),
        dist="loadgroup",
    ),
)


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
    """One run of pytest; with `output`, its output is written there and printed at the end."""

    kind: Kind
    env: Mapping[str, str]
    report: Path
    arguments: Sequence[str]
    output: Path | None = None
    cpu: float = field(default=0.0, init=False)  # seconds, with the processes that it started
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    def start(self) -> None:
        """Start pytest."""
        if self.output is None:
            print(f"\n--- {self.kind.title} ---", flush=True)
        with contextlib.ExitStack() as stack:
            target = stack.enter_context(self.output.open("wb")) if self.output else None
            pytest = site_processes.python("-m", "pytest", f"--junit-xml={self.report}")
            first = ["nice", "-n", NICENESS] if self.kind.yields else []
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
            print(
                f"\n--- {self.kind.title} ---\n{self.output.read_text(errors='replace')}",
                flush=True,
            )
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


def _stack(running: contextlib.ExitStack, directory: Path, *, on_cluster: bool) -> dict[str, str]:
    """Start services in a directory of their own; return the environment of their process."""
    directory.mkdir(mode=0o711)
    urls = running.enter_context(throw_away_services(directory, on_cluster=on_cluster))
    return {**urls, "DATA_DIR": str(directory / "data")}


def run(arguments: Sequence[str]) -> int:
    """Run everything and return the exit code."""
    began = time.monotonic()
    selected = [word for word in arguments if word not in (EVERY_MODE, CLUSTER)]
    with contextlib.ExitStack() as running:
        name = running.enter_context(tempfile.TemporaryDirectory(prefix="socialsite-test-"))
        checks = None if selected else running.enter_context(_checks(Path(name) / "checks.log"))
        passes = _passes(running, Path(name), arguments)
        results = run_passes(passes)
        tests = [test for one in passes for test in timings.read(one.report)]
        checked = checks is None or checks()
    print()
    if not checked:
        print("The checks failed, see above.")
    print(f"{timings.slowest(tests)}\n")
    for one, (_code, result) in zip(passes, results, strict=True):
        print(f"{one.kind.name + ':':12}{result}, {one.cpu:.0f} s of CPU")
    print(f"everything took {time.monotonic() - began:.0f} s, {_cpu_seconds():.0f} s of CPU")
    print(f" {sum((result for _code, result in results), Result())} ".center(80, "="), flush=True)
    codes = {code for code, _result in results}
    good = {0, NO_TESTS} if selected else {0}
    return 0 if checked and codes <= good and codes != {NO_TESTS} else 1


@contextlib.contextmanager
def _checks(output: Path) -> Iterator[Callable[[], bool]]:
    """Start the checks; gives a function that prints their output and returns if all passed."""
    with output.open("wb") as target:
        process = subprocess.Popen(
            [*tied(), *site_processes.python("-m", "deploy.dev.check")],
            cwd=site_processes.PROJECT_DIR,
            stdout=target,
            stderr=subprocess.STDOUT,
        )

    def finish() -> bool:
        code = process.wait()
        print(f"\n--- checks ---\n{output.read_text(errors='replace')}", flush=True)
        return code == 0

    try:
        yield finish
    finally:
        process.terminate()
        process.wait()


def _cpu_seconds() -> float:
    """Return the CPU seconds of everything that was started and has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _passes(running: contextlib.ExitStack, directory: Path, arguments: Sequence[str]) -> list[Pass]:
    """Start the services, and return the passes that have tests to run."""
    directory.chmod(0o711)  # services may run under another account
    os.environ.update(migrated.ensure())  # for the services that start here too
    files = selection.files(arguments)
    processes = min(PROCESSES, len(files)) if files else PROCESSES
    cluster = CLUSTER in arguments
    places = [directory / f"stack-{n}" for n in range(processes)]
    stacks = [_stack(running, place, on_cluster=cluster) for place in places]
    # A full disk of this machine must not fail tests.
    base = {
        **site_processes.environment(),
        "PYTHONUNBUFFERED": "1",
        "MEDIA_MIN_FREE_PERCENT": "0",
        "LINK_PREVIEWS": "0",
    }
    own: dict[str, Mapping[str, str]] = {
        "full": {**stacks[0], per_process.VARIABLE: json.dumps(stacks)},
        "sites": {"SPARE_DATABASE_URL": stacks[0]["DATABASE_URL"]},
    }
    deep = ("--hypothesis-profile=deep",) if EVERY_MODE in arguments else ()
    given = [word for word in arguments if word != CLUSTER]
    found: list[Pass] = []
    for kind in KINDS[:1] if cluster else KINDS:
        words = () if EVERY_MODE in arguments else kind.words
        if not selection.may_have_tests(files, words):
            continue
        plugins = OWN_SERVICES if kind.name == "full" else ()
        at_once = (f"--numprocesses={processes}", f"--dist={kind.dist}") if processes > 1 else ()
        found.append(
            Pass(
                kind,
                {
                    **base,
                    "DATA_DIR": str(directory / f"data-{kind.name}"),
                    selection.VARIABLE: " ".join(words),
                    **own.get(kind.name, {}),
                },
                directory / f"{kind.name}.xml",
                ["-m", kind.marks, *at_once, *ALWAYS, *deep, *plugins, *given],
                directory / f"{kind.name}.log" if found else None,
            )
        )
    return found


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
