"""One child process: started, awaited until it is ready, stopped with its whole group.

- Every service leads its own process group. So Ctrl-C reaches only the parent, which stops its
  services in order, and `stop` and `kill` also reach the service's children.
- If the parent dies without stopping its services, the kernel sends them SIGTERM. That signal is
  tied to the *thread* that started them, so start services from a long-lived thread.
- As root, a service with an `account` runs under it.
- Files that services write are private to their account by default.
"""

import contextlib
import fcntl
import grp
import os
import pwd
import random
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from socialsite.core.runtime import data_dir
from socialsite.core.runtime.redaction import redact

POLL_SECONDS = 0.03
TAIL_LINES = 25

Echo = Callable[[str, str], None]


class ServiceError(Exception):
    """A service did not start, or ended unexpectedly; the text says why."""


@dataclass
class Service:
    """A command line and the condition for it to be ready. Times are in seconds."""

    name: str
    argv: Sequence[str]
    ready: Callable[[], bool] | None = None
    # ready when a line of output contains this; for services without a port
    ready_line: str | None = None
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    account: str | None = None
    log: Path | None = None
    probed: bool = False  # `ready` is asked again while it runs, see `deploy.services.liveness`
    ready_seconds: float = 60
    stop_seconds: float = 10
    stop_signal: signal.Signals = signal.SIGTERM
    essential: bool = False  # no other service can run without it
    stale: Sequence[Path] = ()  # files of a killed process that would block the next one
    echo: Echo | None = None

    process: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES), init=False)
    _reader: threading.Thread | None = field(default=None, init=False, repr=False)
    _line_seen: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def enter(self, namespace: str) -> None:
        """Let it run in a network namespace; its Unix sockets are reached from everywhere."""
        self.argv = in_namespace(namespace, self.account, list(self.argv))
        self.account = None  # taken by then

    @property
    def running(self) -> bool:
        """True while the main process runs."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the main process. Raises ServiceError if it was never started."""
        if self.process is None:
            raise ServiceError(f"{self.name} was not started")
        return self.process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start the process and, by default, wait until it is ready."""
        if self.running:
            return
        self._reap()
        for path in self.stale:
            path.unlink(missing_ok=True)
        self._line_seen.clear()
        self.tail.clear()
        process = subprocess.Popen(
            [*tied(self.account), *self.argv],
            env=dict(self.env) if self.env is not None else None,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=data_dir.UMASK,
        )
        self.process = process
        self._reader = threading.Thread(
            target=self._read, args=(process.stdout,), name=f"{self.name} output", daemon=True
        )
        self._reader.start()
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until the service is ready. Raises ServiceError with its last lines if it fails."""
        deadline = time.monotonic() + self.ready_seconds
        while True:
            if not self.running:
                raise ServiceError(self._story(f"ended at once with code {self.exit_code}"))
            if self.is_ready():
                return
            if time.monotonic() > deadline:
                raise ServiceError(self._story(f"was not ready after {self.ready_seconds:g} s"))
            time.sleep(POLL_SECONDS)

    def is_ready(self) -> bool:
        """Return whether the ready line was printed and the service's own check passes."""
        if self.ready_line is not None and not self._line_seen.is_set():
            return False
        return self.ready is None or self.ready()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for a process that ends by itself; returns its exit code."""
        if self.process is None:
            raise ServiceError(f"{self.name} was not started")
        code = self.process.wait(timeout)
        self._reap()
        return code

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.poll() if self.process is not None else None

    def stop(self) -> None:
        """Ask the process to end, wait, and kill the remaining processes of its group."""
        if self.process is not None and self.running:
            self.process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(self.stop_seconds)
        self.kill()

    def kill(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the whole group; with SIGKILL, the default, return when it is gone."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, sig)
        if sig == signal.SIGKILL:
            self._reap()

    def _reap(self) -> None:
        """Reap the dead process and kill the rest of its group."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self._reader is not None:
            self._reader.join(timeout=2)

    def _read(self, stream: IO[bytes]) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(stream)
            log = stack.enter_context(_private_log(self.log)) if self.log else None
            for raw in stream:
                # The site's own log is redacted already; nginx logs failed requests.
                line = redact(raw.decode(errors="replace").rstrip())
                self.tail.append(line)
                if self.ready_line is not None and self.ready_line in line:
                    self._line_seen.set()
                if log:
                    log.write(f"{line}\n".encode())
                    log.flush()
                if self.echo and line:
                    self.echo(self.name, line)

    def _story(self, what: str) -> str:
        if self._reader is not None and not self.running:
            self._reader.join(timeout=2)
        lines = "".join(f"\n  {line}" for line in self.tail)
        return f"{self.name} {what}" + (f"; its last lines:{lines}" if lines else "")


def _private_log(path: Path) -> IO[bytes]:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, data_dir.OWN_FILE)
    os.fchmod(descriptor, data_dir.OWN_FILE)  # older versions made it readable for others
    return os.fdopen(descriptor, "ab")


def tied(account: str | None = None) -> list[str]:
    """Return the command prefix that ties a command to this process and drops root's rights.

    `setpriv` (util-linux, on every Debian) replaces itself by the command, so the process id stays.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if account:
            raise ServiceError("setpriv (util-linux) is needed to run services as root")
        return []
    drop = []
    if account:
        entry = pwd.getpwnam(account)
        drop = [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return [setpriv, "--pdeathsig=TERM", *drop, "--"]


def in_namespace(namespace: str | None, account: str | None, command: list[str]) -> list[str]:
    """Return the command line that enters a network namespace, and then drops root's rights."""
    enter = ["nsenter", f"--net=/run/netns/{namespace}", "--"] if namespace else []
    return [*enter, *tied(account), *command]


def unprivileged_account(directory: Path) -> str | None:
    """Return the account for services that should not run as root; None: the current account.

    Only root can switch accounts, and only where the account can reach the directory, which is not
    the case below root's home.
    """
    if os.geteuid() != 0:
        return None
    account = pwd.getpwnam("nobody")
    reachable = all(_may_pass(parent, account) for parent in directory.resolve().parents)
    return account.pw_name if reachable else None


def _may_pass(directory: Path, account: pwd.struct_passwd) -> bool:
    found = directory.stat()
    if found.st_uid == account.pw_uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.pw_gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def group_of(account: str) -> grp.struct_group:
    """Return the group of an account."""
    return grp.getgrgid(pwd.getpwnam(account).pw_gid)


def private(directory: Path, account: str | None) -> Path:
    """Create a directory that only the account may read, and return it."""
    directory.mkdir(0o700, parents=True, exist_ok=True)
    chown(directory, account).chmod(0o700)
    return directory


def chown(path: Path, account: str | None) -> Path:
    """Make the account the owner of a file or directory and return the path."""
    if account:
        entry = pwd.getpwnam(account)
        os.chown(path, entry.pw_uid, entry.pw_gid)
    return path


# Below the ports that the system gives to outgoing connections.
PORTS = range(20_000, 30_000)
# Locks of the ports of this process, held until it ends.
_claims: list[int] = []


def free_port() -> int:
    """Return a loopback TCP port that nothing listens on, and that no other process got here.

    Two that start servers at once would otherwise get one port, and read from each other's server.
    Raises ServiceError if there is none.
    """
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        path = Path(tempfile.gettempdir()) / f"socialsite-port-{port}"
        with contextlib.suppress(OSError), socket.socket() as probe:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                probe.bind(("127.0.0.1", port))
            except OSError:
                os.close(lock)
                raise
            _claims.append(lock)
            return port
    raise ServiceError("no port is free")
