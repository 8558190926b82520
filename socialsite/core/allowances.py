"""Budgets that are counted in the database, by its clock: losing Redis opens none of them.

A row has one number, the moment at which its bucket is full again; what is missing until then is
what was taken. Rows hold hashes of their owners only.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.utils.translation import ngettext

from socialsite.core import db
from socialsite.core.budgets import HOUR, MINUTE, Budget, Rate
from socialsite.core.errors import RateLimited
from socialsite.core.models import Allowance
from socialsite.core.ratelimit import Take

SECOND = 1_000_000  # in microseconds, as rows count


class Denial(NamedTuple):
    """The budget that did not give, and the seconds until it would."""

    budget: Budget
    seconds: int


Wanted = dict[str, tuple[Take, Rate]]


def key_of(take: Take) -> str:
    """Return the key of an owner's row."""
    digest = hashlib.sha256(str(take.owner).encode()).hexdigest()
    return f"{take.budget.name}:{digest[:40]}"


def take_all(takes: Sequence[Take]) -> list[Denial]:
    """Take tokens of several budgets, or of none of them when one denies; returns who does."""
    wanted = _limited(takes)
    return _take(wanted) if wanted else []


@db.atomic
def _take(wanted: Wanted) -> list[Denial]:
    rows, now = _locked(list(wanted)), db.now_ms() * 1000
    denials = []
    for row in rows:
        take, rate = wanted[row.key]
        token = _token(rate)
        whole = rate.capacity * token
        # A clock that was set back leaves a moment further away than an empty bucket's.
        missing = min(max(row.full_at - now, 0), whole) + min(take.cost, rate.capacity) * token
        if missing > whole:
            seconds = math.ceil((missing - whole) / SECOND)
            denials.append(Denial(take.budget, seconds))
        row.full_at = now + missing
    if not denials:
        Allowance.objects.bulk_update(rows, ["full_at"])
    return denials


def spend(takes: Sequence[Take]) -> None:
    """Take tokens of several budgets or raise RateLimited, which names the wait."""
    denials = take_all(takes)
    if denials:
        raise refusal(max(denial.seconds for denial in denials))


@contextmanager
def spent(takes: Sequence[Take]) -> Iterator[None]:
    """Take tokens for what is done inside, and give them back when it fails. Raises RateLimited."""
    spend(takes)
    try:
        yield
    except BaseException:
        give_back(takes)
        raise


def give_back(takes: Sequence[Take]) -> None:
    """Give tokens back that were taken for what then was not done."""
    wanted = _limited(takes)
    if wanted:
        _give_back(wanted)


@db.atomic
def _give_back(wanted: Wanted) -> None:
    rows = _locked(list(wanted))
    for row in rows:
        take, rate = wanted[row.key]
        row.full_at -= min(take.cost, rate.capacity) * _token(rate)
    Allowance.objects.bulk_update(rows, ["full_at"])


def _token(rate: Rate) -> int:
    """Return the time in which one token flows back."""
    return max(1, round(HOUR * SECOND / rate.hourly))


def _limited(takes: Sequence[Take]) -> Wanted:
    """Return what is limited at all, by the keys of the rows."""
    rates = [(take, take.budget.rate) for take in takes]
    return {key_of(take): (take, rate) for take, rate in rates if rate is not None}


def _locked(keys: list[str]) -> list[Allowance]:
    """Make the rows that are missing and lock all, in the order of their keys."""
    db.ensure(*(Allowance(key=key) for key in sorted(keys)))
    return list(Allowance.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def purge(limit: int = 1000) -> int:
    """Drop rows of buckets that are full again; returns how many, at most `limit`."""
    full = Allowance.objects.filter(full_at__lte=db.now_ms() * 1000)
    keys = list(full.order_by("full_at").values_list("pk", flat=True)[:limit])
    return int(full.filter(pk__in=keys).delete()[0])


def refusal(seconds: int) -> RateLimited:
    """Return the error that names the wait, in whole minutes where it is longer than one."""
    if seconds <= MINUTE:
        text = ngettext(
            "Too many attempts. Please wait %(n)s second.",
            "Too many attempts. Please wait %(n)s seconds.",
            seconds,
        ) % {"n": seconds}
    else:
        minutes = math.ceil(seconds / MINUTE)
        text = ngettext(
            "Too many attempts. Please wait %(n)s minute.",
            "Too many attempts. Please wait %(n)s minutes.",
            minutes,
        ) % {"n": minutes}
    return RateLimited(text, retry_after=seconds)
