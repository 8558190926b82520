"""A `Service` starts, reports when it is ready, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.services.service import Service, ServiceError
from deploy.tests.processes import alive
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.once

SAY_AND_SLEEP = "print('up', flush=True); import time; time.sleep(600)"


def is_python(pid: int) -> bool:
    """Return whether a process runs Python, and not a program that will exec it."""
    return Path(f"/proc/{pid}/cmdline").read_text().startswith(sys.executable)


def test_start_returns_after_the_readiness_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    service = Service(
        "speaker",
        [sys.executable, "-c", f"import time; time.sleep(0.3); {SAY_AND_SLEEP}"],
        ready_line="up",
        log=log,
    )
    try:
        service.start()
        assert service.running
        assert "up" in log.read_text()
    finally:
        service.stop()
    assert not service.running


def test_a_service_that_ends_at_once_is_an_error_with_its_last_words() -> None:
    service = Service(
        "broken", [sys.executable, "-c", "raise SystemExit('no such directory')"], ready_line="up"
    )
    with pytest.raises(ServiceError, match=r"(?s)ended at once with code 1.*no such directory"):
        service.start()


def test_a_service_that_is_never_ready_is_an_error() -> None:
    service = Service(
        "silent", ["sleep", "600"], ready=lambda: False, ready_seconds=0.2, stop_seconds=1
    )
    with pytest.raises(ServiceError, match=r"was not ready after 0\.2 s"):
        service.start()
    service.stop()
    assert not service.running


def test_a_killed_service_starts_again() -> None:
    service = Service("speaker", [sys.executable, "-c", SAY_AND_SLEEP], ready_line="up")
    try:
        service.start()
        first = service.pid
        service.kill()
        assert service.exit_code == -signal.SIGKILL
        service.start()
        assert service.running
        assert service.pid != first
    finally:
        service.stop()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_children_of_a_service_end_with_it(end: str) -> None:
    script = (
        "import subprocess, signal, time;"
        "child = subprocess.Popen(['sleep', '600']); print('child', child.pid, flush=True);"
        "time.sleep(600)"
    )
    service = Service("parent", [sys.executable, "-c", script], ready_line="child")
    service.start()
    child = int(service.tail[-1].split()[1])
    assert alive(child)
    getattr(service, end)()
    eventually(lambda: not alive(child))


def test_a_service_that_ignores_the_request_to_end_is_killed() -> None:
    script = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SAY_AND_SLEEP}"
    service = Service("deaf", [sys.executable, "-c", script], ready_line="up", stop_seconds=0.3)
    service.start()
    service.stop()
    assert service.exit_code == -signal.SIGKILL


@pytest.mark.skipif(not Path("/usr/bin/setpriv").exists(), reason="needs setpriv (util-linux)")
def test_a_service_ends_when_its_parent_is_killed() -> None:
    script = (
        "import sys, time; from deploy.services.service import Service;"
        "service = Service('orphan', [sys.executable, '-c', 'import time; time.sleep(600)']);"
        "service.start(); print(service.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        eventually(lambda: is_python(pid))  # setpriv takes a moment to exec the service
        assert alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    eventually(lambda: not alive(pid))
