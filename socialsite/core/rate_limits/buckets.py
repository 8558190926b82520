"""Budgets counted in Redis, by Redis' clock; taken from at the entry points, not in actions.

They keep the load fair: while Redis is down every request passes, without budget headers. Budgets
that protect security are counted in the database instead
(`socialsite.core.rate_limits.allowances`).
"""

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings

from socialsite.core import redis
from socialsite.core.errors import RateLimited
from socialsite.core.rate_limits.budget import Budget
from socialsite.core.telemetry.instruments import REFUSALS


class Take(NamedTuple):
    """Tokens to take from one owner's budget."""

    budget: Budget
    owner: int | str
    cost: int = 1

    @property
    def key(self) -> str:
        """The Redis key of the owner's bucket: a person's id, or a hash of an address."""
        owner = str(self.owner)
        return f"rl:{self.budget.name}:{owner if owner.isdecimal() else _hashed(owner)}"


def _hashed(owner: str) -> str:
    # Keyed hash, because all IPv4 addresses are quickly tried.
    return hashlib.blake2b(owner.encode(), digest_size=16, key=_hash_key()).hexdigest()


@functools.cache
def _hash_key() -> bytes:
    return hashlib.blake2b(settings.SECRET_KEY.encode(), person=b"ratelimit").digest()


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer of a bucket: whether it had enough, tokens left, seconds until it has enough.

    `limit` is the size of the bucket and `full_after` the seconds until it is full again. `limit`
    is None if Redis did not answer or nothing is limited.
    """

    allowed: bool
    remaining: int = 0
    retry_after: float = 0.0
    limit: int | None = None
    full_after: float = 0.0

    def headers(self) -> dict[str, str]:
        """Return the budget as response headers; none if it is not known.

        The three fields of the IETF's draft (httpapi-ratelimit-headers, up to version 7), in whole
        tokens and seconds from now. Clients know these names, with or without an `X-`, while few
        read the structured field of later versions. As the draft requires, the RateLimit-Reset of a
        refusal equals its Retry-After; otherwise it is the time until the whole budget is back.
        """
        if self.limit is None:
            return {}
        seconds = self.full_after if self.allowed else max(1.0, self.retry_after)
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(math.ceil(seconds)),
        }

    def check(self) -> None:
        """Raise RateLimited, with the seconds to wait, if the bucket had too few tokens."""
        if not self.allowed:
            raise RateLimited(retry_after=max(1, math.ceil(self.retry_after)))


FREE = Grant(allowed=True)


class PendingTakes:
    """Takes of tokens in a batch; `grant` has the result once the batch has run."""

    def __init__(self, batch: redis.Batch, takes: Sequence[Take]) -> None:
        self.takes = [take for take in takes if take.budget.rate is not None]
        self._asked: list[tuple[Sequence[Take], redis.Promise[list[Any]]]] = []
        if self.takes:
            # The buckets of several servers do not know of each other.
            groups = [[take] for take in self.takes] if redis.IS_SPREAD else [self.takes]
            self._asked = [(group, batch.add(*_command(group))) for group in groups]

    @functools.cached_property
    def _answer(self) -> Grant:
        grants = [_grant(group, promise) for group, promise in self._asked]
        refused = [grant for grant in grants if not grant.allowed]
        if not refused:
            known = [grant for grant in grants if grant.limit is not None]
            return min(known, key=lambda one: one.remaining / (one.limit or 1), default=FREE)
        both = zip(self._asked, grants, strict=True)
        # A bucket that did not answer gave nothing.
        taken = [group for (group, _), one in both if one.allowed and one.limit is not None]
        if taken:
            refund([take for group in taken for take in group])
        return max(refused, key=lambda one: one.retry_after)

    def grant(self) -> Grant:
        """Return the answer of the tightest bucket; without Redis every request is granted."""
        return self._answer


def _command(takes: Sequence[Take]) -> tuple[Any, ...]:
    arguments: list[Any] = []
    for budget, _owner, cost in takes:
        rate = budget.rate or budget.default
        # A cost above the whole budget would never be granted.
        arguments += [rate.capacity, rate.per_second, min(cost, rate.capacity)]
    return redis.script(__file__, "token_bucket").command([take.key for take in takes], arguments)


def _grant(takes: Sequence[Take], reply: redis.Promise[list[Any]]) -> Grant:
    try:
        given, number, left, wait = reply.value
    except redis.RedisDown:
        return FREE
    budget = takes[number - 1].budget
    rate = budget.rate or budget.default
    if not given:
        REFUSALS.labels(budget.name, "redis").inc()
    full_after = max(0.0, (rate.capacity - float(left)) / rate.per_second)
    remaining = max(0, math.floor(float(left)))
    return Grant(bool(given), remaining, float(wait), rate.capacity, full_after)


def take_all(takes: Sequence[Take]) -> Grant:
    """Take tokens of several budgets, or of none if one refuses; one round trip."""
    batch = redis.Batch()
    asked = PendingTakes(batch, takes)
    batch.run()
    return asked.grant()


def take(budget: Budget, owner: int | str, cost: int = 1) -> Grant:
    """Take tokens of an owner; without Redis every request is granted."""
    return take_all([Take(budget, owner, cost)])


def spend(budget: Budget, owner: int | str, cost: int = 1) -> Grant:
    """Take tokens of an owner or raise RateLimited with the seconds to wait."""
    grant = take(budget, owner, cost)
    grant.check()
    return grant


def refund(takes: Sequence[Take]) -> None:
    """Give back tokens that were taken for work that was not done."""
    take_all([one._replace(cost=-one.cost) for one in takes])
