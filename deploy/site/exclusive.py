"""One command at a time changes a site, and a command that is ended cleans up."""

import contextlib
import datetime
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from deploy.site.machine import InstallError

LOCK = Path("/run/socialsite-site.lock")
# The process that has the lock, for the commands that it runs itself.
HOLDER = "SOCIALSITE_SITE_LOCK"
PAUSE_SECONDS = 1.0
BACKUP = "backup"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def alone(command: str, path: Path = LOCK, *, wait: bool = False) -> Iterator[None]:
    """Let no other command change the site meanwhile.

    Waits for another one, or raises InstallError that names it. Everything waits for a back-up.
    """
    descriptor = _open(path)
    try:
        while not _is_taken(descriptor):
            other = _note(descriptor)
            if os.environ.get(HOLDER) == str(other.get("process")):
                yield
                return
            # Without a note it has just begun, or only looks: see `running`.
            if other and not wait:
                if other.get("command") != BACKUP:
                    raise InstallError(_busy(other))
                # It begins by itself, also right after an installation.
                print(f"Waits for `site backup` (process {other['process']})", file=sys.stderr)
                wait = True
            time.sleep(PAUSE_SECONDS)
        since = datetime.datetime.now(datetime.UTC).strftime("%F %T UTC")
        note = json.dumps({"command": command, "since": since, "process": os.getpid()})
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)
        os.environ[HOLDER] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[HOLDER]
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def running(path: Path = LOCK) -> str:
    """Return the name of the command that changes the site now, "" if none does."""
    descriptor = _open(path)
    try:
        return "" if _is_taken(descriptor) else str(_note(descriptor).get("command", "?"))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def stopped(data_dir: Path) -> Iterator[None]:
    """Hold the lock of an embedded site, so that it does not start meanwhile.

    Raises InstallError if it runs.
    """
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = _open(data_dir / "lock")
    try:
        owner = data_dir.stat()
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        if not _is_taken(descriptor):
            raise InstallError(f"The site of {data_dir} runs: stop it first")
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_taken(descriptor: int) -> bool:
    """Take the lock and return True, or return False if another process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _note(descriptor: int) -> dict[str, object]:
    """Return what the process that has the lock wrote; {} if it took it just now."""
    try:
        return dict(json.loads(os.pread(descriptor, 1000, 0)))
    except ValueError:
        return {}


def _busy(other: dict[str, object]) -> str:
    return (
        f"`site {other['command']}` runs since {other['since']} (process {other['process']}):"
        " wait until it has ended"
    )


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals wait until the block has ended, also for the programs that it runs."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def ended_by_exception() -> Iterator[None]:
    """Make SIGTERM and a closed terminal raise KeyboardInterrupt, as Ctrl-C does.

    So a command cleans up; further signals do not disturb that.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
