"""Runs one role as the main process of a systemd unit, or of a container.

`python3 -m deploy.services.role http1 /run/socialsite` runs the role with the `.venv` of the
working directory. Links in its path are resolved first, so that a process keeps its release when
`current` is switched.

- It tells systemd when the role is ready, and again each time that it answers: `WatchdogSec=` of
  the unit ends a process that runs but does not answer. It needs only Python's own library.
  A container has nobody who does that (`deploy.services.container`): there `run` ends it.
- systemd keeps the listening socket of a role that can inherit it, for the next process.
- SIGTERM and SIGHUP are passed on; the exit code is that of the role.
"""

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from deploy.services.site_processes import METRICS, ROLES, WORKER_READY, Role, http_answers

PROBE_SECONDS = 2.0
STARTING_SECONDS = 0.1
# As long as the stack waits before it kills a process (deploy/services/liveness.py).
SILENT_SECONDS = 90.0

# The first socket that systemd gives to a process, and the variables that say so.
FIRST_GIVEN = 3
GIVEN = ("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
BACKLOG = 1024

Tell = Callable[[str], None]


def notify(text: str, *kept: socket.socket) -> None:
    """Send a state such as `READY=1` to systemd, if it started this process, and what to keep."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    # A name that begins with @ is in the abstract namespace of Linux.
    address = f"\0{address[1:]}" if address.startswith("@") else address
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        socket.send_fds(sender, [text.encode()], [one.fileno() for one in kept])


def listening(uds: Path) -> socket.socket:
    """Return the socket that systemd kept from the process before, or a new one at this path."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        return socket.socket(fileno=FIRST_GIVEN)
    uds.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(uds))
    uds.chmod(0o666)
    made.listen(BACKLOG)
    notify("FDSTORE=1\nFDNAME=listening", made)
    return made


def run(role: Role, directory: Path, tell: Tell = notify, silent_seconds: float = math.inf) -> int:
    """Run the role until it ends and return its exit code.

    `tell` gets its states. It is killed if it does not answer for `silent_seconds`.
    """
    release = Path.cwd().resolve()
    uds = directory / f"{role.name}.sock"
    inherited: tuple[int, ...] = ()
    arguments = role.arguments(directory)
    if role.inheriting and "NOTIFY_SOCKET" in os.environ:
        inherited = (listening(uds).detach(),)
        arguments = role.inheriting(*inherited)
    elif role.answers:
        uds.unlink(missing_ok=True)  # of a killed process
    # The role must not send states itself, and must not see where to.
    env = {
        name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", *GIVEN)
    }
    env |= {"METRICS_DIR": str(directory / METRICS), "METRICS_ROLE": role.name}
    output = None if role.answers else subprocess.PIPE
    process = subprocess.Popen(
        [str(release / ".venv" / "bin" / "python"), *arguments],
        cwd=release,
        env=env,
        stdout=output,
        stderr=output and subprocess.STDOUT,
        pass_fds=inherited,
    )

    def pass_on(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, pass_on)
    watch = partial(_probe, uds=uds, silent_seconds=silent_seconds) if role.answers else _copy
    threading.Thread(target=watch, args=(process, tell), daemon=True).start()
    code = process.wait()
    return 128 - code if code < 0 else code


def _probe(process: subprocess.Popen[bytes], tell: Tell, uds: Path, silent_seconds: float) -> None:
    """Report that the role is ready, and that it answers."""
    pause = threading.Event()
    ready = False
    answered = time.monotonic()
    while process.poll() is None:
        if http_answers(uds):
            tell("WATCHDOG=1" if ready else "READY=1")
            ready, answered = True, time.monotonic()
        elif ready and time.monotonic() - answered > silent_seconds:
            print("does not answer and is killed", file=sys.stderr, flush=True)
            process.kill()
        pause.wait(PROBE_SECONDS if ready else STARTING_SECONDS)


def _copy(process: subprocess.Popen[bytes], tell: Tell) -> None:
    """Copy the output of a worker, and report that it is ready when it says so."""
    ready = False
    for line in process.stdout or ():
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        if not ready and WORKER_READY.encode() in line:
            tell("READY=1")
            ready = True


def main() -> int:
    """Run the role that the command line names."""
    roles = {role.name: role for role in ROLES}
    if len(sys.argv) != 3 or sys.argv[1] not in roles:
        print(f"usage: python3 -m deploy.services.role {'|'.join(roles)} DIRECTORY")
        return 2
    return run(roles[sys.argv[1]], Path(sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
