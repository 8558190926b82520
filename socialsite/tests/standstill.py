"""No cache expires and no bucket refills during a test, however slow the machine is.

On a busy machine seconds pass between two lines of a test. A floor that lives five seconds then has
to be read again, and a test that counts queries or round trips fails. So every test runs with the
lifetimes named here an hour long, and with token buckets whose clock stands still. A test of time
itself asks for the fixture `real_lifetimes`. `short_lived` finds the keys that this list lacks.
"""

import hashlib
import pkgutil
import time
from operator import methodcaller
from typing import Any

import pytest

HOUR_MS = 3_600_000
# Longer than any test may take (`timeout` in pyproject.toml).
LONG_MS = 300_000
# The site gives another site five seconds to answer.
OUTGOING_SECONDS = 60.0
LIFETIMES = {
    "accounts.live.consumers.CHECK_SECONDS": 25.0,
    "accounts.live.consumers.JOIN_SECONDS": 25.0,
    "accounts.live.consumers.RECHECK_SECONDS": 3600.0,
    "accounts.actions.refreshing.GRACE_MS": HOUR_MS,
    "accounts.request_auth.token_introspection.GRACE_MS": HOUR_MS,
    "accounts.cache.FENCE_TTL_MS": HOUR_MS,
    "accounts.cache.FLOOR_TTL_MS": HOUR_MS,
    "accounts.live_hints.ONLINE_MS": HOUR_MS,
    "socialsite.core.site.CACHE.ttl_ms": HOUR_MS,
    "feeds.cache.READERS.ttl_ms": HOUR_MS,
    "feeds.cache.READER_TTL_MS": HOUR_MS,
    "feeds.cache.READER_MAX_MS": 2 * HOUR_MS,
    "feeds.cache.OPEN.ttl_ms": HOUR_MS,
    "feeds.delivery.fanout.deliver.LEASE_MS": HOUR_MS,
    "interactions.cache.FOLD_PAUSE_MS": HOUR_MS,
    "socialsite.core.cache.lease.LEASE_MS": HOUR_MS,
    "socialsite.core.client.web_push.TIMEOUT_SECONDS": OUTGOING_SECONDS,
    "socialsite.core.redis.circuit_breaker.BREAK_SECONDS": 3600.0,
    "socialsite.core.events.relay.LEASE_MS": HOUR_MS,
}
# Keys of which the answer is the same after they expired: a full bucket, a ticket that was taken.
HARMLESS = ("rl:", "ticket:")
# The site gives Redis a fifth of a second, which a busy machine does not always need to answer.
REDIS_SECONDS = 30.0


# Redis' clock as a bucket reads it, and in its place the moment at which this process started.
CLOCK = "redis.call('TIME')"
STOPPED = "{{'{}', '{:06}'}}".format(*divmod(time.time_ns() // 1000, 1_000_000))

_real: dict[str, Any] = {}


def stop(patch: pytest.MonkeyPatch) -> None:
    """Let what is cached live for an hour, buckets stay as they are, and Redis take its time."""
    from socialsite.core import redis
    from socialsite.core.client import outgoing

    for name, value in LIFETIMES.items():
        target, _, attribute = name.rpartition(".")
        _real[name] = getattr(pkgutil.resolve_name(target), attribute)
        patch.setattr(name, value)
    _set_clock(patch, STOPPED)
    # The default of `timeout`: the servers of tests are as slow as the machine.
    defaults: Any = outgoing.fetch.__kwdefaults__
    patch.setitem(defaults, "timeout", OUTGOING_SECONDS)
    pool = redis.client().connection_pool.connection_kwargs
    for name in ("socket_timeout", "socket_connect_timeout"):
        if name in pool:
            patch.setitem(pool, name, REDIS_SECONDS)


class Clock:
    """The database's clock, in the test's hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now


def go_on(patch: pytest.MonkeyPatch) -> None:
    """Let what is cached expire, and buckets refill, as they do on the site."""
    for name, value in _real.items():
        patch.setattr(name, value)
    _set_clock(patch, CLOCK)


def _set_clock(patch: pytest.MonkeyPatch, clock: str) -> None:
    from socialsite.core import redis
    from socialsite.core.rate_limits import buckets

    bucket = redis.script(buckets.__file__, "token_bucket")
    text = bucket.text.replace(CLOCK, clock).replace(STOPPED, clock)
    assert clock in text
    patch.setattr(bucket, "text", text)
    patch.setattr(bucket, "sha", hashlib.sha1(text.encode()).hexdigest())  # noqa: S324


def short_lived() -> dict[str, int]:
    """Return the keys in Redis that could expire during a test, with the ms that are left."""
    from socialsite.core import redis

    keys = [*redis.keys("*")]
    left: Any = {
        key.decode(errors="replace"): redis.call(methodcaller("pttl", key)) for key in keys
    }
    return {
        key: ms for key, ms in left.items() if 0 <= ms < LONG_MS and not key.startswith(HARMLESS)
    }
