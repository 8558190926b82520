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
words = ["-c", {code!r}]
role = Role(
    "tried", "", lambda run: [*words, str(run)], answers={answers},
    inheriting=(lambda number: [*words, str(number)]) if {inherits} else None,
)
sys.exit(run(role, Path({folder!r})))
"""
GIVEN = """
import os
os.dup2({given}, 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
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
INHERITING = """
import socket, sys, time
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    with listener.accept()[0] as one:
        if one.recv(9999):
            one.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
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


def start(
    folder: Path, code: str, *, answers: bool, inherits: bool = False, given: int | None = None
) -> subprocess.Popen[str]:
    """Start a role; it gets the socket `given` as systemd gives one."""
    (folder / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    python = folder / ".venv" / "bin" / "python"
    python.unlink(missing_ok=True)
    python.symlink_to(sys.executable)
    script = START.format(
        project=str(PROJECT_DIR), code=code, answers=answers, folder=str(folder), inherits=inherits
    )
    if given is not None:
        script = GIVEN.format(given=given) + script
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify")},
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=() if given is None else (given,),
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


def test_a_socket_that_systemd_keeps_refuses_nobody_while_the_role_starts_again(
    systemd: socket.socket, tmp_path: Path
) -> None:
    with start(tmp_path, INHERITING, answers=True, inherits=True) as process:
        text, (kept,), _, _ = socket.recv_fds(systemd, 100, 1)
        assert text == b"FDSTORE=1\nFDNAME=listening"
        assert systemd.recv(100) == b"READY=1"
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    with socket.socket(socket.AF_UNIX) as early:
        early.connect(str(tmp_path / "tried.sock"))
        early.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with start(tmp_path, INHERITING, answers=True, inherits=True, given=kept) as process:
            early.settimeout(60)
            assert early.recv(99).startswith(b"HTTP/1.1 200")
            while systemd.recv(100) != b"READY=1":  # states of the first process
                pass
            process.send_signal(signal.SIGTERM)
            process.wait(60)
