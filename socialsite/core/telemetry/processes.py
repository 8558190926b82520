"""Start and memory of this process."""

import os
import threading
import time
from pathlib import Path

from socialsite.core.telemetry import instruments

EACH_SECONDS = 15.0
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")
_started = time.time()


def note() -> None:
    """Measure this process now."""
    instruments.STARTED.labels(instruments.ROLE).set(_started)
    if _STATM.exists():
        resident = int(_STATM.read_text().split()[1]) * _PAGE
        instruments.MEMORY.labels(instruments.ROLE).set(resident)


def watch() -> None:
    """Measure this process from time to time, if other processes show its values."""
    if instruments.IS_SHARED:
        threading.Thread(target=_watch, name="metrics", daemon=True).start()


def _watch() -> None:
    pause = threading.Event()
    while True:
        note()
        pause.wait(EACH_SECONDS)
