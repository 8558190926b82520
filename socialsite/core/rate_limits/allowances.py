"""Budgets counted in the database, by its clock, so that losing Redis bypasses none of them.

A row stores one number: the time at which its token bucket will be full again. The time left until
then corresponds to the tokens taken. Rows identify owners only by a hash.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.utils.translation import ngettext

from socialsite.core import db
from socialsite.core.errors import RateLimited
from socialsite.core.models import Allowance
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.rate_limits.budget import HOUR, MINUTE, Budget, Rate

SECOND = 1_000_000  # in microseconds, the unit of the rows


class Denial(NamedTuple):
    """The budget that had too few tokens, and the seconds until it has enough."""

    budget: Budget
    seconds: int


Wanted = dict[str, tuple[Take, Rate]]


def key_of(take: Take) -> str:
    """Return the primary key of an owner's row."""
    digest = hashlib.sha256(str(take.owner).encode()).hexdigest()
    return f"{take.budget.name}:{digest[:40]}"


def take_all(takes: Sequence[Take]) -> list[Denial]:
    """Take tokens from all given budgets, or from none; return the denial, if any."""
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
        # If the clock was set back, the stored time can be further away than an empty bucket's.
        missing = min(max(row.full_at - now, 0), whole) + min(take.cost, rate.capacity) * token
        if missing > whole:
            seconds = math.ceil((missing - whole) / SECOND)
            denials.append(Denial(take.budget, seconds))
        row.full_at = now + missing
    if not denials:
        Allowance.objects.bulk_update(rows, ["full_at"])
    return denials


def spend(takes: Sequence[Take]) -> None:
    """Take tokens from several budgets or raise RateLimited with the time to wait."""
    denials = take_all(takes)
    if denials:
        raise refusal(max(denial.seconds for denial in denials))


@contextmanager
def spent(takes: Sequence[Take]) -> Iterator[None]:
    """Take tokens for the block and give them back if it fails. Raises RateLimited."""
    spend(takes)
    try:
        yield
    except BaseException:
        refund(takes)
        raise


def refund(takes: Sequence[Take]) -> None:
    """Give back tokens that were taken for work that was not done."""
    wanted = _limited(takes)
    if wanted:
        _refund(wanted)


@db.atomic
def _refund(wanted: Wanted) -> None:
    rows = _locked(list(wanted))
    for row in rows:
        take, rate = wanted[row.key]
        row.full_at -= min(take.cost, rate.capacity) * _token(rate)
    Allowance.objects.bulk_update(rows, ["full_at"])


def _token(rate: Rate) -> int:
    """Return the time in which one token flows back."""
    return max(1, round(HOUR * SECOND / rate.hourly))


def _limited(takes: Sequence[Take]) -> Wanted:
    """Return the takes that have a limit, by the key of their row."""
    rates = [(take, take.budget.rate) for take in takes]
    return {key_of(take): (take, rate) for take, rate in rates if rate is not None}


def _locked(keys: list[str]) -> list[Allowance]:
    """Create the missing rows, then lock all rows in the order of their keys."""
    db.ensure(*(Allowance(key=key) for key in sorted(keys)))
    return list(Allowance.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def purge(limit: int = 1000) -> int:
    """Delete rows of full buckets; return how many, at most `limit`."""
    full = Allowance.objects.filter(full_at__lte=db.now_ms() * 1000)
    keys = list(full.order_by("full_at").values_list("pk", flat=True)[:limit])
    return int(full.filter(pk__in=keys).delete()[0])


def refusal(seconds: int) -> RateLimited:
    """Return the error with the time to wait, in whole minutes if it is more than one minute."""
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
