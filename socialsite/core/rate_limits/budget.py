"""One budget: its rate, its owner, and where it is counted; `budgets` has the table of all."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import NamedTuple

from django.conf import settings

PREFIX = "BUDGET_"
MINUTE, HOUR = 60, 3600
CAPACITY_MAX, HOURLY_MAX = 1_000_000, 100_000_000
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{1,9}(?:\.[0-9]{1,6})?)")


class Per(StrEnum):
    """The owner of a budget; the values appear in the docs."""

    PERSON = "person"
    ADDRESS = "address"
    NETWORK = "network"
    VISITOR = "person, or address of a guest"
    GUEST = "address of a guest"
    ASKER = "person, and address"
    RECIPIENT = "recipient"
    LINKS = "account and recipient"
    SITE = "whole site"
    SERVICE = "service key"
    SOCKET = "socket"
    TEXT = "text"
    ACCOUNT = "account"
    HERE = "account and address"
    DEVICE = "account and browser"
    HOST = "host of a link"
    SOLUTION = "solution or challenge"


class Store(StrEnum):
    """The place where a budget is counted; the values appear in the docs."""

    DATABASE = "database"
    REDIS = "Redis"
    PROCESS = "process"
    NOWHERE = "-"


class Rate(NamedTuple):
    """Bucket size, and tokens refilled in an hour (0: no refill)."""

    capacity: int
    hourly: float

    @property
    def per_second(self) -> float:
        """Tokens refilled in a second."""
        return self.hourly / HOUR

    @property
    def window(self) -> int:
        """Seconds in which an empty bucket refills; failures expire after them."""
        return round(self.capacity * HOUR / self.hourly)


@dataclass(frozen=True, slots=True)
class Budget:
    """One row of the table."""

    name: str
    about: str
    _: KW_ONLY
    capacity: int
    hourly: float
    per: Per = Per.PERSON
    store: Store = Store.REDIS
    # Taken only for pages after the first, which are requested with `cursor` or `max_time`.
    deep: bool = False

    @property
    def default(self) -> Rate:
        """The rate that applies unless the environment sets another one."""
        return Rate(self.capacity, self.hourly)

    @property
    def rate(self) -> Rate | None:
        """The effective rate; None for no limit."""
        rates: Mapping[str, Rate | None] = settings.BUDGETS
        return rates.get(self.name, self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets the rate."""
        return PREFIX + self.name.upper()

    def read(self, text: str) -> Rate | None:
        """Return the rate of `capacity/hourly`, or of the capacity alone if nothing is refilled.

        `0` is no limit: None. Raises ValueError.
        """
        if text == "0":
            return None
        if not self.hourly:
            if not (text.isascii() and text.isdigit() and 0 < int(text) <= CAPACITY_MAX):
                raise ValueError(f"must be a number from 1 to {CAPACITY_MAX}, or 0 for no limit")
            return Rate(int(text), 0)
        match = _RATE.fullmatch(text)
        rate = Rate(int(match[1]), float(match[2])) if match else Rate(0, 0)
        if not (0 < rate.capacity <= CAPACITY_MAX and 0 < rate.hourly <= HOURLY_MAX):
            raise ValueError("must be capacity/refilled an hour, such as 20/60, or 0 for no limit")
        return rate


@dataclass(frozen=True, slots=True)
class Guesses(Budget):
    """Free failures: each failure after them doubles the wait before the next attempt.

    The wait starts at `step` seconds and is `cap` seconds at most. Failures expire `window` seconds
    after the first one. With `idle`, they expire `window` seconds after the last attempt, and at
    once after a success (`accounts.sign_in.attempts`).
    """

    _: KW_ONLY
    store: Store = Store.DATABASE
    cap: int = MINUTE
    step: int = 1
    idle: bool = False
