"""The main process of a unit: it tells systemd when the role is ready, and passes signals on."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.services.site_processes import PROJECT_DIR

pytestmark = pytest.mark.once

# Starts `run` with a role of the test, in a release whose Python is this one.
START = """
import sys
from pathlib import Path
sys.path.insert(0, {project!r})
from deploy.services.role import run
from deploy.services.site_processes import Role
role = Role("tried", "", lambda run: ["-c", {code!r}, str(run)], answers={answers})
sys.exit(run(role, Path({folder!r})))
"""
SERVER = """
import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self): return ""
    def log_message(self, *args): pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
socketserver.UnixStreamServer(sys.argv[1] + "/tried.sock", Handler).serve_forever()
"""
WORKER = """
import os, sys, time
print("NOTIFY_SOCKET" in os.environ, flush=True)
print("worker@host ready.", file=sys.stderr, flush=True)
time.sleep(600)
"""


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    """Return the socket that systemd would listen on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(60)
        yield listener


def start(folder: Path, code: str, *, answers: bool) -> subprocess.Popen[str]:
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    script = START.format(project=str(PROJECT_DIR), code=code, answers=answers, folder=str(folder))
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_role_that_answers_is_ready_and_stays_watched(
    systemd: socket.socket, tmp_path: Path
) -> None:
    (tmp_path / "tried.sock").touch()  # a killed process left it
    with start(tmp_path, SERVER, answers=True) as process:
        assert systemd.recv(100) == b"READY=1"
        assert systemd.recv(100) == b"WATCHDOG=1"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


def test_a_worker_is_ready_when_it_says_so(systemd: socket.socket, tmp_path: Path) -> None:
    with start(tmp_path, WORKER, answers=False) as process:
        assert systemd.recv(100) == b"READY=1"
        assert process.stdout is not None
        assert process.stdout.readline() == "False\n"  # it cannot speak to systemd itself
        assert process.stdout.readline() == "worker@host ready.\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM


def test_the_exit_code_is_that_of_the_role(tmp_path: Path) -> None:
    with start(tmp_path, "raise SystemExit(3)", answers=True) as process:
        assert process.wait(60) == 3
