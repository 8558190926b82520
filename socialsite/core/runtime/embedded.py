"""The embedded mode: one process that is also the Celery worker, guarded by one lock.

- Only one process may use a DATA_DIR, because each process has its own Redis inside. `exclusive`
  enforces this rule for the server and for management commands that write. Beside a running server
  they run inside it (`socialsite.core.runtime.control`).
- The worker is a thread, and so is the schedule that it starts. They own no state: work is claimed
  by lease in the database, so killing a process only loses time.
"""

import fcntl
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import current_app
from celery.worker import state as worker_state
from django.conf import settings

from socialsite.core.runtime import data_dir

logger = logging.getLogger(__name__)

WORKER_NAME = "embedded@localhost"
RESTART_SECONDS = 1.0
STOP_SECONDS = 2.0

_held = 0
_held_lock = threading.Lock()


class AlreadyRunning(Exception):
    """Another process uses this DATA_DIR; the text names it."""


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold DATA_DIR's lock in the embedded mode; raises AlreadyRunning if it is taken.

    Nested use in one process is allowed. In the full stack this does nothing.
    """
    global _held
    if not settings.EMBEDDED:
        yield
        return
    with _held_lock:
        nested = _held > 0
        descriptor = None if nested else _take(Path(settings.DATA_DIR) / "lock")
        _held += 1
    try:
        yield
    finally:
        with _held_lock:
            _held -= 1
        if descriptor is not None:
            os.close(descriptor)


def _take(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, data_dir.OWN_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.read(descriptor, 20).decode().strip() or "unknown"
        os.close(descriptor)
        raise AlreadyRunning(
            f"already running with DATA_DIR {path.parent} (pid {pid}). Stop it first, or use"
            " another DATA_DIR."
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


class Background:
    """The Celery worker of the embedded mode, as a thread of this process."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self._stopping = threading.Event()
        self._worker = threading.Thread(target=self._work, name="celery-worker", daemon=True)

    def start(self) -> None:
        """Start the thread; `ready` is set once the worker accepts tasks."""
        current_app.finalize()
        self._worker.start()

    def stop(self) -> bool:
        """Ask the worker to end and wait briefly; return False if a task still runs."""
        self._stopping.set()
        worker_state.should_stop = 0  # type: ignore[assignment]  # the stubs know None only
        logging.getLogger("celery.worker.control").setLevel(logging.ERROR)  # no news: we ask
        # Wakes the worker, which otherwise checks the flag only after its wait of two seconds.
        current_app.control.broadcast("shutdown", destination=[WORKER_NAME])
        self._worker.join(STOP_SECONDS)
        ended = not self._worker.is_alive()
        if ended:
            worker_state.should_stop = None
        return ended

    def _work(self) -> None:
        """Run a worker; start a new one if it ends by itself."""
        while not self._stopping.is_set():
            # WorkController, the base class of the command's worker, installs no signal handlers
            # and no logging. `solo` runs tasks in this thread, one at a time, as SQLite has one
            # writer anyway.
            worker = current_app.WorkController(
                hostname=WORKER_NAME,
                pool="solo",
                concurrency=1,
                loglevel=logging.WARNING,
                without_heartbeat=True,
                without_mingle=True,
                without_gossip=True,
                ready_callback=lambda consumer: self.ready.set(),
            )
            worker.start()
            if not self._stopping.is_set():
                logger.error("worker thread ended; starting a new one")
                time.sleep(RESTART_SECONDS)
