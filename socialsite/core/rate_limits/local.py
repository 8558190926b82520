"""Budgets counted in this process, for resources of the process itself: its sockets.

They need no service. Only the event loop uses them, so nothing is locked.
"""

import math
import time

from socialsite.core.rate_limits.budget import Budget
from socialsite.core.telemetry.instruments import REFUSALS

# Above this number, owners with a full bucket are dropped; if that is not enough, all are.
OWNERS_MAX = 100_000

Owner = tuple[str, str]
clock = time.monotonic


class Bucket:
    """A token bucket that stores the time at which it will be full again."""

    __slots__ = ("full_at",)

    def __init__(self) -> None:
        self.full_at = 0.0

    def take(self, budget: Budget) -> int:
        """Take a token; return 0, or the seconds until there is one."""
        rate = budget.rate
        if rate is None:
            return 0
        now = clock()
        full_at = max(self.full_at, now) + 1 / rate.per_second
        over = full_at - now - rate.capacity / rate.per_second
        if over > 1e-6:
            _count_refusal(budget)
            return math.ceil(over)
        self.full_at = full_at
        return 0


def _count_refusal(budget: Budget) -> None:
    REFUSALS.labels(budget.name, "process").inc()


_buckets: dict[Owner, Bucket] = {}
_held: dict[Owner, int] = {}


def take(budget: Budget, owner: str) -> int:
    """Take a token of an owner; return 0, or the seconds until there is one."""
    if len(_buckets) >= OWNERS_MAX:
        _drop_full()
    return _buckets.setdefault((budget.name, owner), Bucket()).take(budget)


def _drop_full() -> None:
    now = clock()
    for owner in [owner for owner, bucket in _buckets.items() if bucket.full_at <= now]:
        del _buckets[owner]
    if len(_buckets) >= OWNERS_MAX:
        _buckets.clear()


def enter(budget: Budget, owner: str) -> bool:
    """Add one to the count; return False and add nothing if the limit is reached."""
    rate, key = budget.rate, (budget.name, owner)
    if rate is not None and _held.get(key, 0) >= rate.capacity:
        _count_refusal(budget)
        return False
    _held[key] = _held.get(key, 0) + 1
    return True


def leave(budget: Budget, owner: str) -> None:
    """Subtract one from the count."""
    key = (budget.name, owner)
    _held[key] = _held.get(key, 0) - 1
    if _held[key] <= 0:
        del _held[key]


def reset() -> None:
    """Reset all counts, for tests."""
    _buckets.clear()
    _held.clear()
