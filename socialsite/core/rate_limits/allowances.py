"""Budgets counted in the database, by its clock, so that losing Redis bypasses none of them.

A row stores one number: the time at which its token bucket will be full again. The time left until
then corresponds to the tokens taken. Rows identify owners only by a hash.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from django.utils.translation import ngettext

from socialsite.core import db
from socialsite.core.errors import AppError, RateLimited
from socialsite.core.models import Allowance
from socialsite.core.rate_limits.buckets import Take
from socialsite.core.rate_limits.budget import HOUR, MINUTE, Budget, Rate
from socialsite.core.telemetry.instruments import REFUSALS

SECOND = 1_000_000  # in microseconds, the unit of the rows


class Denial(NamedTuple):
    """The budget that had too few tokens, and the seconds until it has enough."""

    budget: Budget
    seconds: int


Wanted = dict[str, tuple[Take, Rate]]
# Errors to raise instead of RateLimited when one of these budgets has too few tokens.
Instead = Mapping[Budget, AppError]


def key_of(take: Take) -> str:
    """Return the primary key of an owner's row."""
    digest = hashlib.sha256(str(take.owner).encode()).hexdigest()
    return f"{take.budget.name}:{digest[:40]}"


def take_all(takes: Sequence[Take]) -> list[Denial]:
    """Take tokens from all given budgets, or from none; return the denial, if any."""
    wanted = _limited(takes)
    denials = _take(wanted) if wanted else []
    for denial in denials:
        REFUSALS.labels(denial.budget.name, "database").inc()
    return denials


@db.atomic
def _take(wanted: Wanted) -> list[Denial]:
    rows, now = _locked(list(wanted)), db.now_ms() * 1000
    denials = []
    for row in rows:
        take, rate = wanted[row.key]
        token = _token(rate)
        whole = rate.capacity * token
        missing = _missing(row.full_at, now, rate) + min(take.cost, rate.capacity) * token
        if missing > whole:
            seconds = math.ceil((missing - whole) / SECOND)
            denials.append(Denial(take.budget, seconds))
        row.full_at = now + missing
    if not denials:
        Allowance.objects.bulk_update(rows, ["full_at"])
    return denials


def share_left(takes: Sequence[Take]) -> float:
    """Return the share of tokens, from 0 to 1, that the emptiest of several buckets still has.

    Whole tokens count. Nothing is locked or written, so the share may change at once.
    """
    wanted = _limited(takes)
    if not wanted:
        return 1.0
    now, shares = db.now_ms() * 1000, [1.0]
    for key, full_at in Allowance.objects.filter(pk__in=wanted).values_list("pk", "full_at"):
        rate = wanted[key][1]
        left = rate.capacity * _token(rate) - _missing(full_at, now, rate)
        shares.append(left // _token(rate) / rate.capacity)
    return min(shares)


def spend(takes: Sequence[Take], instead: Instead | None = None) -> None:
    """Take tokens from several budgets or raise RateLimited with the time to wait."""
    denials, errors = take_all(takes), instead or {}
    waits = [denial.seconds for denial in denials if denial.budget not in errors]
    if waits:
        raise refusal(max(waits))
    for denial in denials:
        raise errors[denial.budget]


@contextmanager
def spent(takes: Sequence[Take], instead: Instead | None = None) -> Iterator[None]:
    """Take tokens for the block and give them back if it fails. Raises RateLimited."""
    spend(takes, instead)
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


def _missing(full_at: int, now: int, rate: Rate) -> int:
    """Return the time until a bucket is full again: at most that of an empty one.

    If the clock was set back, the stored time can be further away.
    """
    return min(max(full_at - now, 0), rate.capacity * _token(rate))


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
