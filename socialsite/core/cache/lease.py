"""Values of the database cached under leases, so that no outdated value is ever stored.

A key holds either a value, or the lease of a reader who is reading the database to fill the key.
A writer deletes the key after its commit, and any lease with it: a reader who read before the
commit can no longer fill (T43-T45). A key that was evicted refuses the fill as well. A lease may be
taken long before the read: one round trip takes the leases on everything that a request lacks.

Inside a transaction the cache is neither read nor filled: it does not know what the transaction
wrote, and other readers must not see that before the commit.

Values are bytes; the caller decides how to encode a missing row (usually b""). A value lives
`ttl_ms` at most. This bounds how long a value stays outdated if a process dies between its commit
and its `invalidate`; the event of the change deletes the key once more.

During an update processes of two versions share the cache. So the format of a value stands in the
value, and never in its key: a process deletes the keys of changes that the other version cached,
and takes a value of another format for missing.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

from socialsite.core import redis
from socialsite.core.redis import Promise, scripts

LEASE_MS = 5_000
_LEASE, _VALUE = b"!", b"="
_TAKE, _FILL = scripts.Split(scripts.same, scripts.indexes), scripts.Split(scripts.one_each(2), sum)


class Lease:
    """Leases on keys without a value, requested in a batch before the database is read.

    A leased key contains `token`; a fill checks that it still does.
    """

    def __init__(self, batch: redis.Batch, keys: Sequence[str]) -> None:
        self.token = _LEASE + secrets.token_bytes(8)
        self.keys = keys
        # In a `TaggedCache`: the token of the epoch, from before the database is read.
        self.epoch: Promise[bytes | None] = Promise()
        self._acquired: Promise[list[int]] = Promise()
        if keys and not batch.in_transaction:
            script = redis.script(__file__, "lease_take", _TAKE)
            self._acquired = batch.add(*script.command(keys, [self.token, LEASE_MS]))

    @cached_property
    def acquired(self) -> frozenset[str]:
        """The keys on which a lease was acquired; none without Redis."""
        return frozenset(self.keys[number - 1] for number in self._acquired.known or ())


class Lookup:
    """Values requested in a batch: `found` once it has run, empty without Redis."""

    def __init__(self, idents: Collection[int], mark: bytes) -> None:
        self._idents, self._mark = idents, mark
        self.found: dict[int, bytes] = {}
        # The ids whose values have another format or, in a `TaggedCache`, another token.
        self.stale: list[int] = []
        # In a `TaggedCache`: the token of the epoch.
        self.token: bytes | None = None

    def take(self, replies: Sequence[bytes | None]) -> None:
        """Receive the values of the keys."""
        mark, size = self._mark, len(self._mark)
        for ident, reply in zip(self._idents, replies, strict=True):
            if not reply:
                continue
            if reply.startswith(mark):
                self.found[ident] = reply[size:]
            elif reply.startswith(_VALUE):
                self.stale.append(ident)

    def take_tagged(self, replies: Sequence[bytes | None]) -> None:
        """Receive the token of the epoch and the values; only values with this token count."""
        self.token, *values = replies
        self.take(values)
        tag, present, self.found = _tag(self.token), self.found, {}
        for ident, value in present.items():
            if tag and value.startswith(tag):
                self.found[ident] = value[len(tag) :]
            else:
                self.stale.append(ident)


class LeaseCache:
    """Values under `<prefix>:<ident>`, in a `format` (1 to 255) that a change of them raises."""

    def __init__(self, prefix: str, ttl_ms: int, *, format: int = 1) -> None:
        self._prefix, self.ttl_ms = f"{prefix}:", ttl_ms
        self._mark = _VALUE + bytes([format])

    def key(self, ident: int) -> str:
        """Return the key of one value."""
        return self._prefix + str(ident)

    def ask(self, batch: redis.Batch, idents: Collection[int]) -> Lookup:
        """Add the read of some values, at least one, to a batch."""
        asked = Lookup(idents, self._mark)
        if not batch.in_transaction:
            prefix = self._prefix
            batch.get([prefix + str(ident) for ident in idents], asked.take, spotty=True)
        return asked

    def lease(
        self, batch: redis.Batch, idents: Collection[int], asked: Lookup | None = None
    ) -> Lease:
        """Request leases, for `fill`, on values that are not cached or are stale."""
        if asked is not None and asked.stale:
            batch.add("DEL", *(self.key(ident) for ident in asked.stale))
        return Lease(batch, [self.key(ident) for ident in idents])

    def fill(self, lease: Lease, values: Mapping[int, bytes]) -> None:
        """Cache values that were read under a lease, for the keys on which it was acquired."""
        if not lease.acquired:
            return
        named = {self.key(ident): self._mark + value for ident, value in values.items()}
        filled = {key: value for key, value in named.items() if key in lease.acquired}
        if filled:
            script = redis.script(__file__, "lease_fill", _FILL)
            args = [lease.token, self.ttl_ms, *filled.values()]
            redis.send_later(*script.command(list(filled), args))

    def invalidate(self, idents: Iterable[int]) -> None:
        """Delete values and leases, so that running fills fail; call it after the commit."""
        redis.invalidate([self.key(ident) for ident in idents])


class TaggedCache(LeaseCache):
    """Values that are valid only while they carry the current token of an epoch.

    Encoding: the length of the token in one byte, the token, the value.
    """

    def __init__(self, prefix: str, ttl_ms: int, epoch: "Epoch", *, format: int = 1) -> None:
        super().__init__(prefix, ttl_ms, format=format)
        self._epoch = epoch

    def ask(self, batch: redis.Batch, idents: Collection[int]) -> Lookup:
        """Add the read of some values and of the token to a batch."""
        asked = Lookup(idents, self._mark)
        if not batch.in_transaction:
            keys = [self._epoch.key, *map(self.key, idents)]
            batch.get(keys, asked.take_tagged, spotty=True)
        return asked

    def lease(
        self, batch: redis.Batch, idents: Collection[int], asked: Lookup | None = None
    ) -> Lease:
        """Request leases, and the token that `fill` adds to the values."""
        lease = super().lease(batch, idents, asked)
        if asked is not None and asked.token is not None:
            lease.epoch.set(asked.token)
        elif not batch.in_transaction:
            lease.epoch = self._epoch.ask_start(batch)
        return lease

    def fill(self, lease: Lease, values: Mapping[int, bytes]) -> None:
        """Cache values that were read under a lease, with the token read before."""
        if tag := _tag(lease.epoch.known):
            super().fill(lease, {ident: tag + value for ident, value in values.items()})


def _tag(token: bytes | None) -> bytes:
    return b"" if token is None else bytes([len(token)]) + token


class Epoch:
    """A random token for the current state of many facts: values with another token are stale.

    It serves values that depend on too many facts to be invalidated one by one. A writer renews the
    token after its commit. A reader reads the token before the database and stores it with the
    value, which is valid only while its token is current (T45). An evicted token never returns, so
    its values stay stale.
    """

    def __init__(self, name: str) -> None:
        self.key = f"epoch:{name}"

    def ask(self, batch: redis.Batch) -> Promise[bytes | None]:
        """Add the read of the token to a batch; if it is None, call `ask_start`."""
        return batch.get([self.key], itemgetter(0))

    def ask_start(self, batch: redis.Batch) -> Promise[bytes | None]:
        """Add the read of the token to a batch; create it if it is missing."""
        batch.add("SET", self.key, secrets.token_bytes(12), "NX")
        return batch.add("GET", self.key)

    def renew(self) -> None:
        """Make all values with the current token stale; call it after the commit."""
        redis.invalidate([self.key])
