"""Memory of the whole site: the stack after its start, its HTTP workers and the embedded mode.

Real processes start with an empty database, get demo data, and answer mixed requests of members and
guests. The floor is a process that has loaded Django, its REST framework and Celery and nothing
else.

    make bench ARGS="memory"                                            # a short run
    make bench ARGS="memory --requests 200000 --embedded 20000 --people 300 --posts 3000"

Growth is measured between a quarter of the requests and all of them. In a short run caches are
still being filled by then, so its limit is wider.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.support import harness, memory
from bench.support.mixed import Crowd
from deploy.services import site_processes
from deploy.services.service import Service, free_port
from deploy.stack import Stack

THREADS = 4
STEPS = 8
SETTLE_SECONDS = 10
LONG = 100_000  # requests; from this number on the workers must be level
# MB of the stack and of the embedded mode, and growth in percent of a long and of a short run.
STACK_MB, EMBEDDED_MB = 900, 180
LEVEL, FILLING = 5, 25
FLOOR = """
import time, django
from django.conf import settings
apps = ["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"]
settings.configure(INSTALLED_APPS=apps)
django.setup()
import celery.app.base, celery.beat, rest_framework.views
print("ready", flush=True)
time.sleep(600)
"""


def floor() -> float:
    """Return the MB of a process that has loaded the frameworks."""
    bare = Service("floor", [sys.executable, "-c", FLOOR], ready_line="ready", env=dict(os.environ))
    bare.start()
    try:
        return memory.size_of([bare.pid]).rss
    finally:
        bare.stop()


def grown(
    report: harness.Report, crowd: Crowd, requests: int, measure: Callable[[], float]
) -> list[float]:
    """Send requests in steps; return the MB after each step."""
    found = [measure()]
    began = time.monotonic()
    for _ in range(STEPS):
        crowd.send(max(1, requests // STEPS), THREADS)
        found.append(measure())
    rate = requests / (time.monotonic() - began)
    report.say(f"- {requests} requests, {rate:.0f} a second: {dict(crowd.statuses)}")
    report.say("- MB: " + ", ".join(f"{one:.0f}" for one in found))
    return found


def settings(**more: str) -> dict[str, str]:
    """Return the environment of a site that is measured."""
    return {
        **site_processes.environment(),
        "BUDGETS": "0",
        "ACCESS_MINUTES": "1440",
        "DEMO": "0",
        **more,
    }


def stack(report: harness.Report, options: argparse.Namespace, directory: Path) -> None:
    """Measure the stack after its start, then its HTTP workers under requests."""
    bare = floor()
    with Stack(directory, env=settings(), durable=False) as running:
        time.sleep(SETTLE_SECONDS)
        sizes = {
            name: memory.size_of(memory.family(service.pid))
            for name, service in running.processes.items()
        }
        # This process stands for the supervisor, which a separate command measures.
        sizes["supervisor"] = supervisor()
        total = sum(sizes.values(), memory.Size(0, 0))
        rows = [
            [name, f"{size.rss:.0f}", f"{size.pss:.0f}", f"{size.rss / bare:.2f}"]
            for name, size in [*sizes.items(), ("all", total)]
        ]
        head = ["stack after its start", "RSS MB", "PSS MB", f"× frameworks ({bare:.0f} MB)"]
        report.rows(rows, head)
        running.manage("demo", "--people", str(options.people), "--posts", str(options.posts))
        pids = [
            pid
            for name in site_processes.HTTP
            for pid in memory.family(running.processes[name].pid)
        ]
        report.say("\nHTTP workers of the stack:")
        crowd = Crowd("127.0.0.1", running.port, options.seed)
        found = grown(report, crowd, options.requests, lambda: memory.size_of(pids).rss)
    growth = (found[-1] / found[STEPS // 4] - 1) * 100
    report.goal("stack after its start, MB (RSS)", total.rss, at_most=STACK_MB)
    limit = LEVEL if options.requests >= LONG else FILLING
    report.goal("growth of the HTTP workers, %", growth, at_most=limit)


def supervisor() -> memory.Size:
    """Return the size of a process that has loaded the supervisor of the stack."""
    code = "import deploy.stack, MySQLdb, time; print('ready', flush=True); time.sleep(600)"
    bare = Service(
        "supervisor",
        [sys.executable, "-c", code],
        ready_line="ready",
        env=dict(os.environ),
        cwd=site_processes.PROJECT_DIR,
    )
    bare.start()
    try:
        return memory.size_of([bare.pid])
    finally:
        bare.stop()


def embedded(report: harness.Report, options: argparse.Namespace, directory: Path) -> None:
    """Measure the embedded mode with demo data under requests."""
    port = free_port()
    env = settings(DATA_DIR=str(directory), PORT=str(port))
    run_demo(env, options)
    server = Service(
        "embedded",
        site_processes.python("manage.py", "serve"),
        ready_line="The site is at",
        env=env,
        cwd=site_processes.PROJECT_DIR,
    )
    server.start()
    try:
        report.say("\nembedded mode:")
        crowd = Crowd("127.0.0.1", port, options.seed)
        measure: Callable[[], float] = lambda: memory.size_of([server.pid]).rss  # noqa: E731
        found = grown(report, crowd, options.embedded, measure)
    finally:
        server.stop()
    report.goal("embedded mode after the requests, MB (RSS)", found[-1], at_most=EMBEDDED_MB)


def run_demo(env: Mapping[str, str], options: argparse.Namespace) -> None:
    """Fill an embedded site with demo data."""
    for words in (
        ("migrate", "--noinput", "--verbosity", "0"),
        ("demo", "--people", str(options.people), "--posts", str(options.posts)),
    ):
        command = site_processes.manage(words[0], env, *words)
        command.start()
        if command.wait():
            raise SystemExit("\n".join(command.tail))


def main() -> int:
    """Measure."""
    numbers = {"--requests": 1600, "--embedded": 800, "--people": 40, "--posts": 60}
    options = harness.arguments(__doc__.splitlines()[0], numbers)
    report = harness.Report("memory", options)
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as name:
        Path(name).chmod(0o711)  # the database of the stack runs under another account
        stack(report, options, Path(name, "stack"))
        embedded(report, options, Path(name, "embedded"))
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
