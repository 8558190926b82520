"""One child process: started, waited for until it is ready, stopped for good.

- Every service leads a process group of its own: Ctrl-C reaches only the parent, which stops its
  services in order, and `stop` and `kill` reach whatever the service forked.
- Should the parent die without a chance to stop them, the kernel sends the services SIGTERM. That
  is tied to the *thread* that started them, so start services from a thread that stays.
- As root, a service with an `account` runs under it.
- What services write is for their own account only, unless they say otherwise.
"""

import contextlib
import grp
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from socialsite.core import data_dir
from socialsite.core.redaction import redact

POLL_SECONDS = 0.03
TAIL_LINES = 25

Echo = Callable[[str, str], None]


class ServiceError(Exception):
    """A service did not start, or ended when it should not have; the text says why."""


@dataclass
class Service:
    """A command line and what it means for it to be ready. Times are seconds."""

    name: str
    argv: Sequence[str]
    ready: Callable[[], bool] | None = None
    ready_line: str | None = None  # ready when its output contained this; for what has no port
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    account: str | None = None
    log: Path | None = None
    ready_seconds: float = 60
    stop_seconds: float = 10
    stop_signal: signal.Signals = signal.SIGTERM
    essential: bool = False  # nothing else can go on without it
    stale: Sequence[Path] = ()  # files of a process that was killed, in the way of the next
    echo: Echo | None = None

    process: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES), init=False)
    _reader: threading.Thread | None = field(default=None, init=False, repr=False)
    _line_seen: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    @property
    def running(self) -> bool:
        """True while the main process lives."""
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        """The id of the main process; ServiceError when it was never started."""
        if self.process is None:
            raise ServiceError(f"{self.name} was not started")
        return self.process.pid

    def start(self, *, wait: bool = True) -> None:
        """Start the process and, unless told otherwise, wait until it is ready."""
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
        """Return when the service can be used; ServiceError with its last lines otherwise."""
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
        """True when the service said what it says when ready and its own check agrees."""
        if self.ready_line is not None and not self._line_seen.is_set():
            return False
        return self.ready is None or self.ready()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of a process that ends by itself and return its exit code."""
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
        """Ask the process to end, wait, and kill what is left of its group."""
        if self.process is not None and self.running:
            self.process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(self.stop_seconds)
        self.kill()

    def kill(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """Send the whole group a signal; with SIGKILL, the default, return when it is gone."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, sig)
        if sig == signal.SIGKILL:
            self._reap()

    def _reap(self) -> None:
        """Collect the dead process and everything of its group that outlived it."""
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
                # What the site itself logs is redacted; nginx logs requests that failed.
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
    os.fchmod(descriptor, data_dir.OWN_FILE)  # of older versions others could read it
    return os.fdopen(descriptor, "ab")


def tied(account: str | None = None) -> list[str]:
    """Return the words before a command that tie it to this process and drop root's rights.

    `setpriv` (util-linux, on every Debian) replaces itself by the command: the process id stays.
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


def unprivileged_account(directory: Path) -> str | None:
    """Return the account for services that refuse root or should not have it; None: the own one.

    Only root can choose, and only where the account can reach the directory, which a path below
    root's home does not allow.
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


def give(path: Path, account: str | None) -> Path:
    """Make the account the owner of a file or directory and return the path."""
    if account:
        entry = pwd.getpwnam(account)
        os.chown(path, entry.pw_uid, entry.pw_gid)
    return path


def free_port() -> int:
    """Return a loopback TCP port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
