"""Budgets of failed attempts, stored in the database alone, so a Redis outage does not lift them.

- Only failures use up a budget. An attempt is recorded as pending, under the locks of its rows,
  before any costly check, and settled afterwards. So of fifty concurrent attempts no more are
  checked than may fail.
- A refused attempt changes nothing and reveals nothing: the answer is the same for a right
  password, a wrong one and an unknown name.
- Nobody can lock out another person. A device or address that signed in to an account before has a
  budget of its own there. Strangers' attempts on the account or from the address do not use it.
"""

import hashlib
import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest

from accounts import queries
from accounts.models import Failures, TokenVersion, User
from accounts.sign_in import known_devices
from socialsite.core import db
from socialsite.core.errors import (
    AppError,
    DuplicatedUser,
    OtpNotCorrected,
    PasswordNotCorrected,
    RegMatchError,
    UserNotFound,
)
from socialsite.core.http.ip_addresses import client, client_of
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.allowances import refusal
from socialsite.core.rate_limits.budget import Guesses, Rate
from socialsite.core.runtime import concurrency
from socialsite.core.telemetry.instruments import FAILED_ATTEMPTS

DAY = 86_400
# A pending attempt older than this (its process was killed) counts as a failure.
PENDING_MS = 60_000
# How long an attempt waits for pending attempts that may use up the rest of the budget.
TURN_SECONDS = 10.0
# Above this number of waiting attempts in a process, each one polls less often.
PAUSING_FREELY = 8

_jitter = random.SystemRandom()
_pausing: set[object] = set()

# Their names in the metrics.
FAILURES: dict[type[AppError], str] = {
    PasswordNotCorrected: "password",
    UserNotFound: "name",
    OtpNotCorrected: "code",
    RegMatchError: "sign_up_refused",
    DuplicatedUser: "name_taken",
}

Keys = dict[str, Guesses]


def key(budget: Guesses, *parts: str) -> str:
    """Return the key of the row that counts failures for these parts."""
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{budget.name}:{digest[:40]}"


def delay_ms(budget: Guesses, count: int) -> int:
    """Return how long to wait after this number of failures."""
    free = _rate(budget).capacity
    if count < free:
        return 0
    return 1000 * min(budget.cap, budget.step * 2 ** min(count - free, 30))


def _rate(budget: Guesses) -> Rate:
    return budget.rate or budget.default


@contextmanager
def login(request: HttpRequest, username: str) -> Iterator[None]:
    """Guard the check of a password at log-in. Raises RateLimited."""
    name = username.lower()
    user = queries.any_by_name(username)
    user_id = 0 if user is None else user.pk
    found = _of_person(
        request, name, user_id, budgets.LOGIN_DEVICE, budgets.LOGIN_HERE, budgets.LOGIN_ACCOUNT
    )
    if key(budgets.LOGIN_ACCOUNT, name) in found:
        found[key(budgets.LOGIN_ADDRESS, client_of(request))] = budgets.LOGIN_ADDRESS
    with _guarded(client_of(request), found, PasswordNotCorrected, UserNotFound):
        yield


@contextmanager
def code(request: HttpRequest, user: User) -> Iterator[None]:
    """Guard the check of a second-factor code at log-in. Raises RateLimited."""
    found = _of_person(
        request, str(user.pk), user.pk, budgets.CODE_DEVICE, budgets.CODE_HERE, budgets.CODE_ACCOUNT
    )
    with _guarded(client_of(request), found, OtpNotCorrected):
        yield


@contextmanager
def password(user: User) -> Iterator[None]:
    """Guard the check of a signed-in person's password. Raises RateLimited."""
    found: Keys = {key(budgets.PASSWORD, str(user.pk)): budgets.PASSWORD}
    with _guarded(user.pk, found, PasswordNotCorrected):
        yield


@contextmanager
def own_code(user: User) -> Iterator[None]:
    """Guard the check of a signed-in person's second-factor code. Raises RateLimited."""
    found: Keys = {key(budgets.OWN_CODE, str(user.pk)): budgets.OWN_CODE}
    with _guarded(user.pk, found, OtpNotCorrected):
        yield


@contextmanager
def sign_up(request: HttpRequest) -> Iterator[None]:
    """Guard a sign-up: refused names and passwords count as failures. Raises RateLimited."""
    found = {key(budgets.SIGN_UP_REFUSED, client_of(request)): budgets.SIGN_UP_REFUSED}
    with _guarded(client_of(request), found, RegMatchError, DuplicatedUser):
        yield


def _of_person(
    request: HttpRequest, name: str, user_id: int, device: Guesses, here: Guesses, account: Guesses
) -> Keys:
    """Return the budgets of a person's attempt; that of the whole account for strangers only."""
    mark = known_devices.mark_of(request, user_id)
    if mark:
        return {key(device, name, mark): device}
    place = client_of(request)
    found = {key(here, name, place): here}
    seen = TokenVersion.objects.filter(user=user_id).exclude(address="")
    if place not in {client(address) for address in seen.values_list("address", flat=True)}:
        found[key(account, name)] = account
    return found


@contextmanager
def _guarded(owner: object, keys: Keys, *failures: type[AppError]) -> Iterator[None]:
    """Admit an attempt or raise RateLimited; the given error types count as failures.

    Raises Unavailable when too many attempts run at once, in total or for this owner.
    """
    with concurrency.slow(concurrency.PASSWORD, owner), _counted(keys, *failures):
        try:
            yield
        except failures as error:
            FAILED_ATTEMPTS.labels(FAILURES.get(type(error), "other")).inc()
            raise


@contextmanager
def _counted(keys: Keys, *failures: type[AppError]) -> Iterator[None]:
    keys = {key: budget for key, budget in keys.items() if budget.rate is not None}
    if not keys:
        yield
        return
    _take(keys)
    try:
        yield
    except failures:
        _settle(keys, failed=True)
        raise
    except BaseException:
        _settle(keys)
        raise
    _settle(keys, succeeded=True)


def _take(keys: Keys) -> None:
    """Record an attempt as pending; wait first if other pending ones may use up the budget."""
    latest = time.monotonic() + TURN_SECONDS
    while True:
        entered, wait_ms = _enter(keys)
        if entered:
            return
        if wait_ms or time.monotonic() > latest:
            raise refusal(max(1, math.ceil(wait_ms / 1000)))
        _pause()


def _pause() -> None:
    """Wait before the next poll; the more waiters there are, the longer each one waits."""
    marker = object()
    _pausing.add(marker)
    try:
        time.sleep(_jitter.uniform(0.02, 0.08) * max(1.0, len(_pausing) / PAUSING_FREELY))
    finally:
        _pausing.discard(marker)


@db.atomic
def _enter(keys: Keys) -> tuple[bool, int]:
    """Return whether the attempt is admitted, else the ms to wait; 0: wait for pending attempts."""
    rows = _locked(keys)
    now = db.now_ms()
    changed = [row for row in rows if _freshen(row, keys[row.key], now)]
    wait_ms = max(0, *(row.wait_until - now for row in rows))
    full = any(
        row.pending and row.count + row.pending >= _rate(keys[row.key]).capacity for row in rows
    )
    if wait_ms or full:
        _save(changed)
        return False, wait_ms
    for row in rows:
        row.pending += 1
        row.last_at = now
    _save(rows)
    return True, 0


@db.atomic
def _settle(keys: Keys, *, failed: bool = False, succeeded: bool = False) -> None:
    """Settle a pending attempt; neither failed nor succeeded means that it was not decided."""
    rows = _locked(keys)
    now = db.now_ms()
    for row in rows:
        budget = keys[row.key]
        row.pending = max(0, row.pending - 1)
        if failed:
            _count(row, budget, 1, now)
        elif succeeded and budget.idle:
            row.count = row.wait_until = 0
    _save(rows)


def _freshen(row: Failures, budget: Guesses, now: int) -> bool:
    """Reset expired counts, count lost attempts as failures, and clamp impossible times.

    A clock that was set back leaves such times. Returns whether anything changed.
    """
    before = (row.count, row.pending, row.first_at, row.last_at, row.wait_until)
    row.first_at, row.last_at = min(row.first_at, now), min(row.last_at, now)
    row.wait_until = min(row.wait_until, now + delay_ms(budget, row.count))
    if now - (row.last_at if budget.idle else row.first_at) >= _rate(budget).window * 1000:
        row.count = row.wait_until = 0
    if row.pending and now - row.last_at >= PENDING_MS:
        lost, row.pending = row.pending, 0
        _count(row, budget, lost, now)
    return before != (row.count, row.pending, row.first_at, row.last_at, row.wait_until)


def _count(row: Failures, budget: Guesses, failures: int, now: int) -> None:
    if row.count == 0:
        row.first_at = now
    row.count += failures
    row.wait_until = now + delay_ms(budget, row.count)


def _locked(keys: Keys) -> list[Failures]:
    """Create the missing rows and lock all, in the order of their keys."""
    for key in sorted(keys):
        db.ensure(Failures(key=key))
    return list(Failures.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def _save(rows: list[Failures]) -> None:
    Failures.objects.bulk_update(rows, ["count", "pending", "first_at", "last_at", "wait_until"])


def purge(limit: int = 1000) -> int:
    """Delete rows without an admitted attempt for a day; returns their number, at most `limit`.

    The time is longer if a configured budget counts failures for longer than a day.
    """
    guesses = [row for row in budgets.TABLE.values() if isinstance(row, Guesses)]
    longest = max(DAY, *(_rate(row).window for row in guesses))
    old = Failures.objects.filter(last_at__lt=db.now_ms() - longest * 1000)
    keys = list(old.order_by("last_at").values_list("pk", flat=True)[:limit])
    return int(old.filter(pk__in=keys).delete()[0])
