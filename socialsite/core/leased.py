"""Facts of the database cached under leases, so that no stale one is ever put in place.

A key holds a value, or the lease of a reader who is reading the database to fill it in. Whoever
changes the fact forgets the key after the commit, and with it any lease: a reader who read before
the commit can no longer fill (T43-T45). A key that was evicted or wiped refuses the fill as well.
A lease may be had long before the read: all that a request lacks can be leased in one round trip.

Inside a transaction the cache is neither asked nor filled: it does not know what was written there,
and others must not know before the commit.

Values are bytes; what a fact that does not exist looks like is up to the caller (b"" by custom).
A value lives `ttl_ms` at most, which bounds what a process that died between its commit and its
`forget` can leave behind; the event of its change forgets once more.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Self

from socialsite.core import redis

LEASE_MS = 5_000
_LEASE, _VALUE = b"!", b"="


class Lease:
    """Asked for in a batch, for keys under which nothing is cached, before the database is read.

    Where it was had, the key holds its `token`, and whoever fills in looks if it still does.
    """

    def __init__(self, batch: redis.Batch, keys: Sequence[str]) -> None:
        self.token = _LEASE + secrets.token_bytes(8)
        self.keys = keys
        self._had: redis.Promise[list[int]] = redis.Promise()
        if keys and not batch.in_transaction:
            script = redis.script(__file__, "leased_take")
            self._had = batch.add(*script.command(keys, [self.token, LEASE_MS]))

    @classmethod
    def at_once(cls, keys: Sequence[str]) -> Self:
        """Return a lease that was asked for alone."""
        batch = redis.Batch()
        lease = cls(batch, keys)
        batch.run()
        return lease

    @cached_property
    def had(self) -> frozenset[str]:
        """The keys it was had for; none without Redis."""
        try:
            return frozenset(self.keys[number - 1] for number in self._had.value)
        except redis.RedisDown:
            return frozenset()


def _same(values: list[bytes | None]) -> list[bytes | None]:
    return values


class Asked:
    """Values asked for in a batch: `found` after it has run, empty without Redis."""

    def __init__(self, idents: Collection[int], promise: redis.Promise[list[bytes | None]]):
        self._idents, self._promise = idents, promise

    @property
    def found(self) -> dict[int, bytes]:
        """The values that are cached."""
        try:
            replies = self._promise.value
        except redis.RedisDown:
            return {}
        return {
            ident: reply[1:]
            for ident, reply in zip(self._idents, replies, strict=True)
            if reply is not None and reply.startswith(_VALUE)
        }


class LeasedCache:
    """Values under `<prefix>:<ident>`."""

    def __init__(self, prefix: str, ttl_ms: int) -> None:
        self._prefix, self.ttl_ms = f"{prefix}:", ttl_ms

    def key(self, ident: int) -> str:
        """Return the key of one value."""
        return self._prefix + str(ident)

    def ask(self, batch: redis.Batch, idents: Collection[int]) -> Asked:
        """Add the read of some values, at least one, to a batch."""
        if batch.in_transaction:
            return Asked(idents, redis.Promise())
        prefix = self._prefix
        keys = [prefix + str(ident) for ident in idents]
        return Asked(idents, batch.get(keys, _same))

    def lease(self, batch: redis.Batch, idents: Collection[int]) -> Lease:
        """Ask for what `load` needs to fill in values that are not cached."""
        return Lease(batch, [self.key(ident) for ident in idents])

    def lease_anew(self, batch: redis.Batch, idents: Collection[int]) -> Lease:
        """Do the same for values that are cached and of no use: they make room for others."""
        batch.add("DEL", *(self.key(ident) for ident in idents))
        return self.lease(batch, idents)

    def load(
        self,
        idents: Collection[int],
        read: Callable[[Collection[int]], Mapping[int, bytes]],
        *leases: Lease,
    ) -> Mapping[int, bytes]:
        """Read facts that are not cached from the database and cache them.

        `read` is called once, with all leases taken; what it does not return is not cached.
        """
        asked = {key for lease in leases for key in lease.keys}
        others = [key for ident in idents if (key := self.key(ident)) not in asked]
        if others:
            leases = (*leases, Lease.at_once(others))
        values = read(idents) if idents else {}
        for lease in leases:
            self.fill(lease, values)
        return values

    def fill(self, lease: Lease, values: Mapping[int, bytes]) -> None:
        """Cache values that were read under a lease, as far as that was had."""
        if not lease.had:
            return
        named = {self.key(ident): _VALUE + value for ident, value in values.items()}
        filled = {key: value for key, value in named.items() if key in lease.had}
        if filled:
            script = redis.script(__file__, "leased_fill")
            told = [lease.token, self.ttl_ms, *filled.values()]
            redis.send_later(*script.command(list(filled), told))

    def forget(self, idents: Iterable[int]) -> None:
        """Forget values and whatever fills are under way; call it after the commit."""
        redis.forget([self.key(ident) for ident in idents])


class Epoch:
    """A random token that stands for how something is now: what carries another token is stale.

    For values that depend on more facts than could be forgotten one by one. Whoever changes such a
    fact renews the token after the commit. A reader takes the token before it reads the database
    and keeps it with what it caches; a value counts only while its token is the present one (T45).
    A token that was evicted or wiped never comes back, so nothing tagged with it does either.
    """

    def __init__(self, name: str) -> None:
        self.key = f"epoch:{name}"

    def ask(self, batch: redis.Batch) -> redis.Promise[bytes | None]:
        """Add the read of the token to a batch; None when there is none, then start one."""
        return batch.get([self.key], itemgetter(0))

    def ask_start(self, batch: redis.Batch) -> redis.Promise[bytes | None]:
        """Add the read of the token to a batch, made when there is none."""
        batch.add("SET", self.key, secrets.token_bytes(12), "NX")
        return batch.add("GET", self.key)

    def start(self) -> bytes | None:
        """Return the present token, made when there is none; None without Redis: cache nothing."""
        batch = redis.Batch()
        present = self.ask_start(batch)
        batch.run()
        try:
            return present.value
        except redis.RedisDown:
            return None

    def renew(self) -> None:
        """Make everything that carries the present token stale; call it after the commit."""
        redis.forget([self.key])
