"""Read facts that no cache was asked for, as a reader whose read of the cache came to nothing."""

from collections.abc import Callable, Collection, Mapping

from socialsite.core.leased import Lease, LeasedCache
from socialsite.core.reads import Values, as_cached, run
from socialsite.core.redis import Batch


def load(
    cache: LeasedCache,
    idents: Collection[int],
    read: Callable[[Collection[int]], Mapping[int, bytes]],
) -> Mapping[int, bytes]:
    """Take leases on facts, read them and fill them in; returns what was read."""
    values = Values(cache, read, as_cached, idents)
    values.is_asked = True
    run(values)
    return values.known


def lease_at_once(*keys: str) -> Lease:
    """Return a lease that was asked for alone."""
    batch = Batch()
    lease = Lease(batch, keys)
    batch.run()
    return lease
