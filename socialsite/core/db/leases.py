"""Claims of long work: a lease in the database that a living worker renews.

A row of such work has the columns `due_at` (Unix ms), `lease` and `tries`. Each claim writes
another `lease`, so a worker whose number is gone knows that it has lost the row.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from socialsite.core.db import atomic, now_ms

Work = TypeVar("Work", bound=Model)


@atomic
def claim(due: "QuerySet[Work]", lease_ms: int) -> Work | None:
    """Claim the row that is due first, for so many ms; return None if there is none.

    Rows that another worker claims at the moment are skipped.
    """
    row = due.select_for_update(skip_locked=True).order_by("due_at").first()
    if row is None:
        return None
    claimed: Any = row
    claimed.due_at = now_ms() + lease_ms
    claimed.lease, claimed.tries = claimed.lease + 1, claimed.tries + 1
    claimed.save(update_fields=["due_at", "lease", "tries"])
    return row


def now_and_then(seconds: float, renew: Callable[[], None]) -> Callable[[], None]:
    """Return a function that work calls often, and that renews its lease once in so many seconds.

    It raises what `renew` raises.
    """
    renewed = time.monotonic()

    def alive() -> None:
        nonlocal renewed
        if time.monotonic() - renewed > seconds:
            renewed = time.monotonic()
            renew()

    return alive
