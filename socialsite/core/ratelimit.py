"""Token buckets in Redis, by Redis' clock; taken from at the entry (views, API), not in actions.

These limits guard fairness: while Redis is down they let everything pass, and tell no budget. A
limit that security rests on must not use them; it needs an answer from the database then.
"""

import math
from dataclasses import dataclass

from socialsite.core import redis
from socialsite.core.errors import RateLimited


@dataclass(frozen=True, slots=True)
class Grant:
    """What a bucket answered: whether it gave, what is left, seconds until it would give.

    `limit` is the size of the bucket and `full_after` the seconds until it is full again; `limit`
    is None when Redis did not answer, so that nothing is known.
    """

    allowed: bool
    remaining: int
    retry_after: float
    limit: int | None = None
    full_after: float = 0.0

    def headers(self) -> dict[str, str]:
        """Return the budget as response headers, none when it is not known.

        The three fields of the IETF's draft (httpapi-ratelimit-headers, up to its version 7), in
        whole tokens and seconds from now: clients know these names, with or without an `X-`, while
        the structured field that later versions put in their place is read by few. As the draft
        asks, a refusal's RateLimit-Reset is the same moment as its Retry-After; otherwise it is
        when the whole budget is back.
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
        """Raise RateLimited, with the seconds to wait, unless the bucket gave."""
        if not self.allowed:
            raise RateLimited(retry_after=max(1, math.ceil(self.retry_after)))


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
        full_after = (self.capacity - float(left)) / self.rate
        return Grant(
            bool(given), math.floor(float(left)), float(wait), self.capacity, max(0.0, full_after)
        )

    def spend(self, owner: int | str, cost: int = 1) -> Grant:
        """Take tokens of an owner or raise RateLimited with the seconds to wait."""
        grant = self.take(owner, cost)
        grant.check()
        return grant

    def key(self, owner: int | str) -> str:
        """Return the Redis key of an owner's bucket."""
        return f"rl:{self.name}:{owner}"
