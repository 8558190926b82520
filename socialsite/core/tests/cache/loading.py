"""Read facts that no cache was asked for, as a reader whose read of the cache came to nothing."""

from collections.abc import Callable, Collection, Mapping

from socialsite.core.cache.lease import Epoch, Lease, LeaseCache
from socialsite.core.cache.reads import Values, run
from socialsite.core.redis import Batch

Reading = Callable[[Collection[int]], Mapping[int, bytes]]


class Facts(Values[bytes]):
    """Facts of any cache, as it keeps them."""

    def __init__(self, cache: LeaseCache, read: Reading, idents: Collection[int]) -> None:
        self.cache, self._reading = cache, read
        super().__init__(idents)

    def read(self, idents: Collection[int]) -> Mapping[int, bytes]:
        return self._reading(idents)

    def decode(self, found: Mapping[int, bytes]) -> Mapping[int, bytes]:
        return found


def load(cache: LeaseCache, idents: Collection[int], read: Reading) -> Mapping[int, bytes]:
    """Take leases on facts, read them and fill them in; returns what was read."""
    facts = Facts(cache, read, idents)
    facts.is_asked = True
    run(facts)
    return facts.known


def look_up(cache: LeaseCache, idents: Collection[int], read: Reading) -> Mapping[int, bytes]:
    """Return facts from the cache, and those that it lacks as `load` does."""
    facts = Facts(cache, read, idents)
    run(facts)
    return facts.known


def lease_at_once(*keys: str) -> Lease:
    """Return a lease that was asked for alone."""
    batch = Batch()
    lease = Lease(batch, keys)
    batch.run()
    return lease


def start(epoch: Epoch) -> bytes | None:
    """Return the present token of an epoch, made when there is none; None without Redis."""
    batch = Batch()
    present = epoch.ask_start(batch)
    batch.run()
    return present.known
