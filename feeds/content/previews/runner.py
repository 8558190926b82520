"""The thread that reads pages for previews: at most one in each process, none without work.

A page of another site may take seconds. Meanwhile the other threads of the worker deliver posts.
"""

import logging
import threading

from django.db import DatabaseError, connections

from feeds.content.previews import actions
from feeds.models import WantedPreview
from socialsite.core import db

logger = logging.getLogger(__name__)

_running = threading.Lock()


def start() -> None:
    """Start the thread if there is work and it does not run."""
    if not WantedPreview.objects.filter(due_at__lte=db.now_ms()).exists():
        return
    if _running.acquire(blocking=False):
        threading.Thread(target=_run, name="link-previews", daemon=True).start()


def _run() -> None:
    try:
        while actions.work_off():
            pass
    except DatabaseError:
        logger.warning("database unavailable; link previews wait for the next run", exc_info=True)
    finally:
        connections.close_all()
        _running.release()
