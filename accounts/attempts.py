"""Budgets of failed attempts, in the database alone: no outage of Redis opens them.

- Only failures use a budget up. An attempt is entered under the locks of its rows before anything
  costly is done, and settled afterwards: of fifty at once no more are checked than may fail.
- A refused attempt changes nothing, and tells nothing: the same for a right password, a wrong one
  and a name that nobody has.
- Nobody can lock out somebody else. A device or an address that signed in to an account before has
  a budget of its own there; what strangers do to the account or at the address does not touch it.
"""

import hashlib
import ipaddress
import logging
import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import ngettext

from accounts import devices, known_devices, queries
from accounts.models import Failures, TokenVersion, User
from socialsite.core import db
from socialsite.core.errors import (
    AppError,
    DuplicatedUser,
    OtpNotCorrected,
    PasswordNotCorrected,
    RateLimited,
    RegMatchError,
    UserNotFound,
)

logger = logging.getLogger(__name__)

MINUTE, HOUR, DAY = 60, 3600, 86_400
# An attempt that was not settled in this time (a killed process) counts as a failure.
PENDING_MS = 60_000
# How long an attempt waits for others that are being checked and may use up what is left.
TURN_SECONDS = 10.0
IPV6_NETWORK = 64

_jitter = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Budget:
    """`free` failures without a wait, then `step` seconds, doubled each time, at most `cap`.

    Failures are forgotten `window` seconds after the first of them; with `idle`, `window` seconds
    after the last attempt, and at once after a success.
    """

    name: str
    free: int
    window: int
    cap: int
    step: int = 1
    idle: bool = False

    def key(self, *parts: str) -> str:
        """Return the key of the row that counts for these parts."""
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        return f"{self.name}:{digest[:40]}"

    def delay_ms(self, count: int) -> int:
        """Return how long to wait after so many failures."""
        if count < self.free:
            return 0
        return 1000 * min(self.cap, self.step * 2 ** min(count - self.free, 30))


# The first two of a login clear themselves by a success. The budgets of an address and of a whole
# account wait a minute at most: many people may share an address (behind a proxy of our own that
# TRUSTED_PROXIES does not tell of: all of them), and the account is attacked, not attacking.
LOGIN_HERE = Budget("login-here", free=5, window=HOUR, cap=15 * MINUTE, idle=True)
LOGIN_DEVICE = Budget("login-device", free=5, window=HOUR, cap=15 * MINUTE, idle=True)
LOGIN_ADDRESS = Budget("login-address", free=50, window=HOUR, cap=MINUTE)
LOGIN_ACCOUNT = Budget("login-account", free=100, window=DAY, cap=MINUTE)
# Codes are short, and only who knows the password gets to try one.
CODE_HERE = Budget("code-here", free=5, window=HOUR, cap=15 * MINUTE, idle=True)
CODE_DEVICE = Budget("code-device", free=5, window=HOUR, cap=15 * MINUTE, idle=True)
CODE_ACCOUNT = Budget("code-account", free=10, window=DAY, cap=15 * MINUTE)
# The password and the codes asked of someone who is signed in: a stranger does not get there. Only
# the thief of an open sign-in guesses codes there, so no success forgives them.
PASSWORD = Budget("password", free=5, window=HOUR, cap=15 * MINUTE, idle=True)
OWN_CODE = Budget("own-code", free=5, window=DAY, cap=15 * MINUTE)
SIGN_UP = Budget("sign-up", free=50, window=HOUR, cap=MINUTE)
# Every mail asked for counts, sent or not. Who asks in a stranger's name cannot keep the stranger
# from a link: it was in the mails that were sent.
MAIL_ASKER = Budget("mail-asker", free=30, window=HOUR, cap=MINUTE)
MAIL_ADDRESS = Budget("mail-address", free=3, window=HOUR, cap=15 * MINUTE, step=MINUTE, idle=True)

Keys = dict[str, Budget]


@contextmanager
def login(request: HttpRequest, username: str) -> Iterator[None]:
    """Guard the check of a password at log-in. Raises RateLimited."""
    name = username.lower()
    user = queries.any_by_name(username)
    user_id = 0 if user is None else user.pk
    found = _of_person(request, name, user_id, LOGIN_DEVICE, LOGIN_HERE, LOGIN_ACCOUNT)
    if LOGIN_ACCOUNT.key(name) in found:
        found[LOGIN_ADDRESS.key(network_of(request))] = LOGIN_ADDRESS
    with _guarded(found, PasswordNotCorrected, UserNotFound):
        yield


@contextmanager
def code(request: HttpRequest, user: User) -> Iterator[None]:
    """Guard the check of a code of the second factor at log-in. Raises RateLimited."""
    found = _of_person(request, str(user.pk), user.pk, CODE_DEVICE, CODE_HERE, CODE_ACCOUNT)
    with _guarded(found, OtpNotCorrected):
        yield


@contextmanager
def password(user: User) -> Iterator[None]:
    """Guard the check of the password of someone signed in. Raises RateLimited."""
    with _guarded({PASSWORD.key(str(user.pk)): PASSWORD}, PasswordNotCorrected):
        yield


@contextmanager
def own_code(user: User) -> Iterator[None]:
    """Guard the check of a code of someone signed in. Raises RateLimited."""
    with _guarded({OWN_CODE.key(str(user.pk)): OWN_CODE}, OtpNotCorrected):
        yield


@contextmanager
def sign_up(request: HttpRequest) -> Iterator[None]:
    """Guard the making of an account: refused names and passwords count. Raises RateLimited."""
    found = {SIGN_UP.key(network_of(request)): SIGN_UP}
    with _guarded(found, RegMatchError, DuplicatedUser):
        yield


def ask_mail(request: HttpRequest) -> None:
    """Count a mail that someone asks for. Raises RateLimited."""
    key = MAIL_ASKER.key(network_of(request))
    _take({key: MAIL_ASKER})
    _settle({key: MAIL_ASKER}, failed=True)


def may_mail(kind: str, address: str) -> bool:
    """Count a mail of a kind to an address; False when it had its share of them."""
    key = MAIL_ADDRESS.key(kind, address.lower())
    try:
        _take({key: MAIL_ADDRESS})
    except RateLimited:
        return False
    _settle({key: MAIL_ADDRESS}, failed=True)
    return True


def network_of(request: HttpRequest) -> str:
    """Return the address that counts as one client: of IPv6 the network of a household, /64."""
    _warn_of_proxy(request)
    return _network(devices.address_of(request))


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, IPV6_NETWORK), strict=False))


def _of_person(
    request: HttpRequest, name: str, user_id: int, device: Budget, here: Budget, account: Budget
) -> Keys:
    """Return what a person's attempt counts under; the account as a whole for strangers only."""
    mark = known_devices.mark_of(request, user_id)
    if mark:
        return {device.key(name, mark): device}
    network = network_of(request)
    found = {here.key(name, network): here}
    seen = TokenVersion.objects.filter(user=user_id).exclude(address="")
    if network not in {_network(address) for address in seen.values_list("address", flat=True)}:
        found[account.key(name)] = account
    return found


@contextmanager
def _guarded(keys: Keys, *failures: type[AppError]) -> Iterator[None]:
    """Let an attempt through or raise RateLimited; the errors named make it a failed one."""
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
    """Enter an attempt, after those that are being checked where they may use up the budget."""
    latest = time.monotonic() + TURN_SECONDS
    while True:
        entered, wait_ms = _enter(keys)
        if entered:
            return
        if wait_ms or time.monotonic() > latest:
            raise _refusal(max(1, math.ceil(wait_ms / 1000)))
        time.sleep(_jitter.uniform(0.02, 0.08))


@db.atomic
def _enter(keys: Keys) -> tuple[bool, int]:
    """Return whether the attempt is let through, else the ms to wait; 0: for others to settle."""
    rows = _locked(keys)
    now = db.now_ms()
    changed = [row for row in rows if _freshen(row, keys[row.key], now)]
    wait_ms = max(0, *(row.wait_until - now for row in rows))
    full = any(row.pending and row.count + row.pending >= keys[row.key].free for row in rows)
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
    """Note how an attempt ended; neither failed nor succeeded: it was not decided."""
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


def _freshen(row: Failures, budget: Budget, now: int) -> bool:
    """Forget what is over, count what was never settled, believe no time that a rule cannot give.

    Such times are left by a clock that was set back. Returns whether something changed.
    """
    before = (row.count, row.pending, row.first_at, row.last_at, row.wait_until)
    row.first_at, row.last_at = min(row.first_at, now), min(row.last_at, now)
    row.wait_until = min(row.wait_until, now + budget.delay_ms(row.count))
    if now - (row.last_at if budget.idle else row.first_at) >= budget.window * 1000:
        row.count = row.wait_until = 0
    if row.pending and now - row.last_at >= PENDING_MS:
        lost, row.pending = row.pending, 0
        _count(row, budget, lost, now)
    return before != (row.count, row.pending, row.first_at, row.last_at, row.wait_until)


def _count(row: Failures, budget: Budget, failures: int, now: int) -> None:
    if row.count == 0:
        row.first_at = now
    row.count += failures
    row.wait_until = now + budget.delay_ms(row.count)


def _locked(keys: Keys) -> list[Failures]:
    """Make the rows that are missing and lock all, in the order of their keys."""
    for key in sorted(keys):
        db.ensure(Failures(key=key))
    return list(Failures.objects.select_for_update().filter(pk__in=keys).order_by("pk"))


def _save(rows: list[Failures]) -> None:
    Failures.objects.bulk_update(rows, ["count", "pending", "first_at", "last_at", "wait_until"])


def purge(limit: int = 1000) -> int:
    """Drop rows that no attempt was let through for in a day; returns how many, at most `limit`."""
    old = Failures.objects.filter(last_at__lt=db.now_ms() - DAY * 1000)
    keys = list(old.order_by("last_at").values_list("pk", flat=True)[:limit])
    return int(old.filter(pk__in=keys).delete()[0])


def _refusal(seconds: int) -> RateLimited:
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


_warned = False


def _warn_of_proxy(request: HttpRequest) -> None:
    """Say once that a proxy seems to stand in front which nobody told us of."""
    global _warned
    if _warned or settings.TRUSTED_PROXIES or "HTTP_X_FORWARDED_FOR" not in request.META:
        return
    _warned = True
    logger.warning(
        "a request from %s has X-Forwarded-For while TRUSTED_PROXIES is 0: if that is your proxy,"
        " all people share its address and the budgets of failed attempts",
        request.META.get("REMOTE_ADDR"),
    )
