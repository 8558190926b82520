"""Values of instruments in files: sums of all roles, over restarts, past files that are broken."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from deploy.services.site_processes import PROJECT_DIR
from socialsite.core.telemetry import storage

pytestmark = pytest.mark.once

# Counts three refusals and one open socket, says whether that is shared, and ends when asked.
PROCESS = """
import sys
from pathlib import Path
from django.conf import settings
settings.configure(METRICS_DIR=Path(sys.argv[1]), METRICS_ROLE=sys.argv[2])
from socialsite.core.telemetry import instruments
instruments.REFUSALS.labels("posts", "redis").inc(3)
instruments.FANOUTS.observe(0.3)
instruments.SOCKETS_OPEN.inc()
print(instruments.IS_SHARED, flush=True)
sys.stdin.read()
"""
REFUSALS = 'socialsite_rate_limit_refusals_total{budget="posts",counted_in="redis"}'
FANOUTS, SOCKETS = "socialsite_fanout_seconds_count", "socialsite_sockets_open"


class Process:
    """A process with instruments, from its first values on."""

    def __init__(self, directory: Path, role: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(directory), role],
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.is_shared = self._process.stdout.readline() == "True\n"

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator:
    """Return a function that starts a process of a role."""
    started = []

    def run(role: str) -> Process:
        started.append(Process(tmp_path / "metrics", role))
        return started[-1]

    yield run
    for process in started:
        process.kill()


def read(directory: Path) -> dict[str, float]:
    """Return the sums of all roles by the name of the sample."""
    registry = CollectorRegistry()
    storage.Shared(directory / "metrics", registry)
    lines = generate_latest(registry).decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_the_values_of_all_roles_are_added_up(start, tmp_path) -> None:
    assert start("http1").is_shared
    assert start("http2").is_shared
    found = read(tmp_path)
    assert (found[REFUSALS], found[FANOUTS], found[SOCKETS]) == (6, 2, 2)


def test_files_are_for_this_account_only(start, tmp_path) -> None:
    start("http1")
    files = [tmp_path / "metrics", *(tmp_path / "metrics").iterdir()]
    assert len(files) == 6
    assert not [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_a_role_that_starts_again_keeps_its_counters_but_not_its_gauges(start, tmp_path) -> None:
    start("sockets").kill()
    files = sorted(path.name for path in (tmp_path / "metrics").iterdir())
    start("sockets")
    found = read(tmp_path)
    assert (found[REFUSALS], found[FANOUTS], found[SOCKETS]) == (6, 2, 1)
    assert sorted(path.name for path in (tmp_path / "metrics").iterdir()) == files


def test_the_gauges_of_a_role_that_ended_do_not_count(start, tmp_path) -> None:
    start("http1")
    start("sockets").kill()
    found = read(tmp_path)
    assert (found[REFUSALS], found[SOCKETS]) == (6, 1)


def test_a_second_process_of_a_role_does_not_touch_its_files(start, tmp_path) -> None:
    start("http1")
    assert not start("http1").is_shared
    assert read(tmp_path)[REFUSALS] == 3


@pytest.mark.parametrize(
    "content",
    [b"\xff" * 4096, b"\x40\x00\x00\x00" + b"\x07" * 4092, b"x", os.urandom(5000)],
    ids=["ones", "entries", "short", "random"],
)
def test_a_broken_file_is_left_out_and_replaced_at_the_start(content, start, tmp_path) -> None:
    start("http1")
    start("http2").kill()
    for kind in ("counter", "histogram"):
        (tmp_path / "metrics" / f"{kind}_http2.db").write_bytes(content)
    assert read(tmp_path)[REFUSALS] == 3
    assert start("http2").is_shared
    found = read(tmp_path)
    assert (found[REFUSALS], found[FANOUTS]) == (6, 2)


def test_values_of_other_instruments_are_not_mixed_with_those_of_today(start, tmp_path) -> None:
    start("http1").kill()
    (tmp_path / "metrics" / "http1.version").write_text("another list of instruments")
    start("http1")
    assert read(tmp_path)[REFUSALS] == 3


def test_a_directory_that_cannot_be_made_leaves_the_values_in_memory(start, tmp_path) -> None:
    (tmp_path / "metrics").write_text("a file")
    assert not start("http1").is_shared
