"""Races between sign-on operations of one person in real threads, with their invariants.

Each race creates its own person, starts its threads together and returns the violations found, an
empty list for none. `test_races.py` runs some rounds of each, `make chaos ARGS="sign_on"`
thousands.
"""

import itertools
from collections.abc import Callable
from typing import Any

from accounts import actions, tokens
from accounts.models import Role, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication
from accounts.tests.browsers import log_in
from accounts.tokens import TokenPair
from relations.tests.helpers import at_once
from socialsite.core.errors import AppError, BannedRefreshToken, PasswordNotCorrected, UserBanned
from socialsite.core.models import Event

PASSWORD, NEW_PASSWORD = "right.pass1", "other.pass2"
Wrongs = list[str]

_numbers = itertools.count(1)


def person() -> User:
    """Create a person with a new name."""
    number = next(_numbers)
    return actions.register(f"racer{number}", f"Racer{number}", PASSWORD)


def is_alive(pair: TokenPair) -> tuple[bool, bool]:
    """Return whether the access and the refresh token of a pair are accepted; may rotate."""
    return _accepted(authentication.by_access, pair.access), _accepted(
        actions.refresh, pair.refresh
    )


def _accepted(function: Callable[[str], Any], token: str) -> bool:
    try:
        function(token)
    except AppError:
        return False
    return True


def _unexpected(results: list[Any], *allowed: type[AppError]) -> Wrongs:
    return [
        f"error {result!r}"
        for result in results
        if isinstance(result, Exception) and not isinstance(result, allowed)
    ]


def _pairs(results: list[Any]) -> list[TokenPair]:
    found = []
    for result in results:
        if isinstance(result, TokenPair):
            found.append(result)
        elif isinstance(result, tuple):
            found.append(result[1])
    return found


def _numbers_are_sound(user: User) -> Wrongs:
    """Every floor is below the number that would be issued now."""
    wrongs = []
    batch = TokenBatch.objects.get(pk=user.pk)
    if not max(batch.access_floor, batch.refresh_floor) < batch.batch:
        wrongs.append(f"batch {batch.batch} is dead at birth")
    for row in TokenVersion.objects.filter(user=user):
        if not max(row.access_floor, row.refresh_floor) < row.version:
            wrongs.append(f"version {row.version} of {row.client} is dead at birth")
    return wrongs


def two_logins_of_one_type() -> Wrongs:
    """Of several concurrent log-ins of one device type, exactly one is live afterwards."""
    user = person()
    results = at_once([lambda: actions.sign_in(user, "chrome")] * 3)
    pairs = _pairs(results)
    wrongs = _unexpected(results)
    versions = {tokens.decode_access(pair.access).version for pair in pairs}
    if len(versions) != len(pairs):
        wrongs.append(f"{len(pairs)} logins share versions {versions}")
    alive = [is_alive(pair) for pair in pairs]
    if sorted(alive) != [(False, False)] * (len(pairs) - 1) + [(True, True)]:
        wrongs.append(f"after logins of one type {alive}")
    return wrongs + _numbers_are_sound(user)


def a_refresh_and_a_password_change() -> Wrongs:
    """All tokens from a thief's refresh during a password change are dead afterwards."""
    user = person()
    stolen, own = actions.sign_in(user, "chrome"), actions.sign_in(user, "firefox")
    results = at_once(
        [
            lambda: actions.refresh(stolen.refresh),
            lambda: actions.change_password(user, "firefox", PASSWORD, NEW_PASSWORD),
            lambda: actions.refresh(own.refresh),
        ]
    )
    wrongs = _unexpected(results, BannedRefreshToken)
    if not isinstance(results[1], TokenPair):
        return [*wrongs, f"the change gave {results[1]!r}"]
    gone = [stolen, own, *_pairs([results[0], results[2]])]
    for pair in gone:
        if is_alive(pair) != (False, False):
            wrongs.append("a token from before the password change lives")
    if is_alive(results[1]) != (True, True):
        wrongs.append("the changer's new pair is dead")
    return wrongs + _numbers_are_sound(user)


def a_login_and_a_password_change() -> Wrongs:
    """A log-in with the old password during its change is signed out afterwards."""
    user = person()
    actions.sign_in(user, "firefox")
    results = at_once(
        [
            lambda: log_in(user.username, PASSWORD, "chrome"),
            lambda: actions.change_password(user, "firefox", PASSWORD, NEW_PASSWORD),
            lambda: log_in(user.username, PASSWORD, "android"),
        ]
    )
    wrongs = _unexpected(results, PasswordNotCorrected)
    for pair in _pairs([results[0], results[2]]):
        if is_alive(pair) != (False, False):
            wrongs.append("a login with the old password lives")
    if not isinstance(results[1], TokenPair) or is_alive(results[1]) != (True, True):
        wrongs.append(f"the change gave {results[1]!r}")
    return wrongs + _numbers_are_sound(user)


def two_tabs_refreshing() -> Wrongs:
    """Tabs that refresh concurrently get the same successor, byte for byte, and stay signed in."""
    user = person()
    pair = actions.sign_in(user, "chrome")
    results = at_once([lambda: actions.refresh(pair.refresh)] * 3)
    wrongs = _unexpected(results)
    pairs = _pairs(results)
    if len({found.refresh for found in pairs}) != 1 or len(pairs) != 3:
        wrongs.append("tabs got different successors")
    if not all(_accepted(authentication.by_access, found.access) for found in pairs):
        wrongs.append("a tab got a dead access token")
    if pairs and is_alive(pairs[0]) != (True, True):
        wrongs.append("the common successor is dead")
    return wrongs + _numbers_are_sound(user)


def bumps_against_bumps() -> Wrongs:
    """Concurrent log-ins, kicks and role changes: each raises its number once, none is lost."""
    user = person()
    first = actions.sign_in(user, "chrome")
    results = at_once(
        [
            lambda: actions.sign_in(user, "chrome"),
            lambda: actions.log_out(user, "chrome"),
            lambda: actions.sign_in(user, "chrome"),
            lambda: actions.promote(user, Role.MEMBER | Role.MODERATOR),
        ]
    )
    wrongs = _unexpected(results)
    if is_alive(first) != (False, False):
        wrongs.append("the first sign-in lives")
    row = TokenVersion.objects.get(user=user, client="chrome")
    # Two log-ins after the first and one log-out; without a sign-in there is nothing to end.
    ended = Event.objects.filter(
        type="TokensRevoked", aggregate_id=user.pk, payload__client="chrome"
    ).count()
    if row.version != 1 + ended or ended not in (2, 3):
        wrongs.append(f"{ended} bumps made version {row.version}")
    alive = [pair for pair in _pairs(results[:3]) if _accepted(actions.refresh, pair.refresh)]
    if len(alive) > 1:
        wrongs.append(f"{len(alive)} sign-ins of one type live")
    for pair in alive:
        # The refreshed access token has the current roles.
        _, fresh = actions.refresh(pair.refresh)
        _, principal = authentication.by_access(fresh.access)
        if principal.roles != Role.MEMBER | Role.MODERATOR:
            wrongs.append("a refresh after the change of roles brought the old ones")
    return wrongs + _numbers_are_sound(user)


def logins_and_a_ban() -> Wrongs:
    """After a ban no token is live, whatever log-ins and refreshes ran concurrently."""
    user = person()
    pair = actions.sign_in(user, "chrome")
    results = at_once(
        [
            lambda: log_in(user.username, PASSWORD, "firefox"),
            lambda: actions.ban(user),
            lambda: actions.refresh(pair.refresh),
        ]
    )
    wrongs = _unexpected(results, BannedRefreshToken, UserBanned)
    for found in [pair, *_pairs([results[0], results[2]])]:
        if is_alive(found) != (False, False):
            wrongs.append("a token of a banned person lives")
    user.refresh_from_db()
    actions.unban(user)
    if is_alive(actions.sign_in(user, "chrome")) != (True, True):
        wrongs.append("after the un-ban a new pair is dead at birth")
    return wrongs + _numbers_are_sound(user)


def two_password_changes() -> Wrongs:
    """Of two changes that know the old password one wins, and only its pair is live."""
    user = person()
    for client in ("chrome", "firefox"):
        actions.sign_in(user, client)
    results = at_once(
        [
            lambda: actions.change_password(user, "chrome", PASSWORD, NEW_PASSWORD),
            lambda: actions.change_password(user, "firefox", PASSWORD, "third.pass3"),
        ]
    )
    wrongs = _unexpected(results, PasswordNotCorrected)
    pairs = _pairs(results)
    if [is_alive(pair) for pair in pairs] != [(True, True)]:
        wrongs.append(f"{len(pairs)} changes from one old password went through")
    return wrongs + _numbers_are_sound(user)


RACES: dict[str, Callable[[], Wrongs]] = {
    race.__name__: race
    for race in (
        two_logins_of_one_type,
        a_refresh_and_a_password_change,
        a_login_and_a_password_change,
        two_tabs_refreshing,
        bumps_against_bumps,
        logins_and_a_ban,
        two_password_changes,
    )
}
