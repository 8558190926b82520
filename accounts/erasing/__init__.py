"""Erases closed accounts, some things at a time (`socialsite.core.erasing` says what is erased).

- One worker at a time erases an account: it leases the row of `Closing`. A worker that was killed
  leaves a lease that ends by itself. Two workers with one account would only do work twice.
- There is no other progress than the data: the next run begins with the first eraser again, which
  finds nothing left.
- An account whose eraser fails waits for PAUSE_MS and holds up no other.
- For RECHECK after the end all erasers run again: a request or event that was under way may have
  left something.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actions import erasing as actions
from accounts.models import Closing
from socialsite.core import db
from socialsite.core.erasing import Stage, erasers, is_awaited
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

# Things that one call of an eraser erases.
CHUNK = 50
# How long a run erases. The embedded mode has one worker, whose other tasks wait meanwhile.
RUN_SECONDS = 3.0
LEASE_MS = 120_000
PAUSE_MS = 300_000
# Between two looks at an account that is erased already.
RECHECK_MS = 3_600_000
RECHECK = timedelta(days=1)

Going = Callable[[], bool]


def work_off(seconds: float = RUN_SECONDS) -> int:
    """Erase accounts whose time has come, for some seconds; return how many were finished."""
    end = time.monotonic() + seconds
    finished = 0
    for user_id in list(_due().values_list("pk", flat=True)):
        if time.monotonic() >= end:
            break
        if _take(user_id):
            finished += _work(user_id, lambda: time.monotonic() < end)
    return finished


def _due() -> "QuerySet[Closing]":
    """Return the accounts to erase, the one that waited longest first, then those to look at."""
    now = timezone.now()
    wanted = Q(erased_at=None, erase_at__lte=now) | Q(erased_at__gt=now - RECHECK)
    return Closing.objects.filter(wanted, lease__lte=db.now_ms()).order_by("lease", "erase_at")


@db.atomic
def _take(user_id: int) -> bool:
    """Lease an account, unless another worker has it or its person came back meanwhile."""
    found = _due().select_for_update(skip_locked=True).filter(pk=user_id).first()
    if found is None:
        return False
    if found.erasing_at is None:
        found.erasing_at = timezone.now()
    found.lease = db.now_ms() + LEASE_MS
    found.save(update_fields=["erasing_at", "lease"])
    return True


def _work(user_id: int, going: Going) -> bool:
    try:
        is_done = erase(user_id, going)
    except Exception:
        logger.exception("user %s could not be erased; tried again later", user_id)
        _lease_until(user_id, PAUSE_MS)
        return False
    if is_done and actions.finish(user_id):
        logger.info("user %s is erased", user_id)
    _lease_until(user_id, RECHECK_MS if is_done else 0)
    return is_done


def _lease_until(user_id: int, milliseconds: int) -> None:
    Closing.objects.filter(pk=user_id).update(lease=db.now_ms() + milliseconds)


def erase(user_id: int, going: Going = lambda: True, limit: int = CHUNK) -> bool:
    """Erase what is left of a person; return True if nothing was left.

    It stops where events must be delivered first, and when `going()`, asked after each chunk, says
    so: the next call goes on.
    """
    done = 1
    while done:
        done = 0
        for stage in Stage:
            for eraser in erasers(stage):
                while found := eraser.erase(user_id, limit):
                    done += found
                    failpoint("erasure-chunk")
                    _lease_until(user_id, LEASE_MS)
                    if not going():
                        return False
            if stage < Stage.TRACES and is_awaited(user_id):
                return False
    return True


def left(user_id: int) -> dict[str, int]:
    """Return how many things each eraser would still find."""
    found = {eraser.name: eraser.left(user_id) for eraser in erasers()}
    return {name: number for name, number in found.items() if number}
