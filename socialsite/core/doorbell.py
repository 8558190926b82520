"""Hurrying background work: a message to the broker is a hint, the work itself is in the database.

A broker that is down, full or hanging never fails or slows the caller: after a failure nothing is sent
for a few seconds, and the sweepers find the work.
"""

import logging
import threading
import time

from celery import current_app
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 3.0
_quiet_until = 0.0
_lock = threading.Lock()


def ring(task: str, *args: object) -> bool:
    """Send a task by name; False when the broker cannot take it now. Never raises for the broker."""
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return False
    try:
        current_app.send_task(task, args=args, retry=False, ignore_result=True)
    except (KombuError, OSError) as error:
        with _lock:
            _quiet_until = time.monotonic() + PAUSE_SECONDS
        logger.warning("broker unavailable, the sweeper will run %s: %s", task, error)
        return False
    return True
