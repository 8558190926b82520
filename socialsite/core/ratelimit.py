"""Token buckets in Redis, by Redis' clock; taken from at the entry (views, API), not in actions.

These limits guard fairness: while Redis is down they let everything pass. A limit that security
rests on must not use them; it needs an answer from the database then.
"""

import math
from dataclasses import dataclass

from socialsite.core import redis
from socialsite.core.errors import RateLimited


@dataclass(frozen=True, slots=True)
class Grant:
    """What a bucket answered: whether it gave, what is left, seconds until it would give."""

    allowed: bool
    remaining: int
    retry_after: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """`capacity` tokens for each owner, refilled at `rate` tokens a second."""

    name: str
    capacity: int
    rate: float

    def take(self, owner: int | str, cost: int = 1) -> Grant:
        """Take tokens of an owner; without Redis everything is granted."""
        script = redis.script(__file__, "token_bucket")
        try:
            given, left, wait = script([self.key(owner)], [self.capacity, self.rate, cost])
        except redis.RedisDown:
            return Grant(allowed=True, remaining=self.capacity, retry_after=0)
        return Grant(bool(given), math.floor(float(left)), float(wait))

    def spend(self, owner: int | str, cost: int = 1) -> Grant:
        """Take tokens of an owner or raise RateLimited with the seconds to wait."""
        grant = self.take(owner, cost)
        if not grant.allowed:
            raise RateLimited(retry_after=max(1, math.ceil(grant.retry_after)))
        return grant

    def key(self, owner: int | str) -> str:
        """Return the Redis key of an owner's bucket."""
        return f"rl:{self.name}:{owner}"
