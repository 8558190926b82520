"""Budgets of failed attempts: who waits, who does not, and that no attempt bypasses them."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions
from accounts.credentials import passwords
from accounts.models import Failures, TokenVersion
from accounts.sign_in import attempts, flow, known_devices
from accounts.tests.sign_in.addresses import AWAY, HOME, request_from
from relations.tests.helpers import at_once
from socialsite.core import db, redis
from socialsite.core.errors import (
    AppError,
    DuplicatedUser,
    OtpNotCorrected,
    PasswordNotCorrected,
    RateLimited,
    RegMatchError,
    Unavailable,
    UserBanned,
)
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Guesses
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.django_db

PASSWORD, WRONG = "right.pass1", "wrong.pass1"
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def try_login(name: str, password: str = WRONG, address: str = HOME) -> str:
    """Log in from an address with an unknown device; returns "in" or the name of the error."""
    try:
        flow.log_in(request_from(address), name, password, "other")
    except AppError as error:
        return error.name
    return "in"


def wait_of(name: str, address: str = HOME) -> int:
    """Return the Retry-After seconds of a log-in; 0 when it was not refused."""
    try:
        flow.log_in(request_from(address), name, WRONG, "other")
    except RateLimited as error:
        return error.retry_after or -1
    except PasswordNotCorrected:
        return 0
    raise AssertionError("that was the right password")


# --- one account at one address -----------------------------------------------------------------
def test_five_failures_are_free_then_each_makes_the_wait_longer_up_to_15_minutes(
    make_user, clock
) -> None:
    make_user("alice1")
    assert [try_login("alice1") for _ in range(5)] == ["PASSWORD_NOT_CORRECTED"] * 5
    waits = []
    for _ in range(13):
        waits.append(wait_of("alice1"))
        clock.now += waits[-1] * SECOND
        assert try_login("alice1") == "PASSWORD_NOT_CORRECTED"
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]


def test_the_right_password_is_refused_during_the_wait_and_good_after_it(make_user, clock) -> None:
    make_user("alice1")
    for _ in range(5):
        try_login("alice1")
    assert try_login("alice1", PASSWORD) == "RATE_LIMITED"
    clock.now += 999
    assert try_login("alice1", PASSWORD) == "RATE_LIMITED"
    clock.now += 1
    assert try_login("alice1", PASSWORD) == "in"


def test_refused_attempts_neither_count_nor_prolong(make_user, clock) -> None:
    make_user("alice1")
    for _ in range(5):
        try_login("alice1")
    before = list(Failures.objects.order_by("key").values())
    assert [try_login("alice1") for _ in range(20)] == ["RATE_LIMITED"] * 20
    assert list(Failures.objects.order_by("key").values()) == before


def test_a_success_resets_the_count(make_user, clock) -> None:
    make_user("alice1")
    for _ in range(3):
        assert [try_login("alice1") for _ in range(4)] == ["PASSWORD_NOT_CORRECTED"] * 4
        assert try_login("alice1", PASSWORD) == "in"


def test_an_hour_without_an_attempt_resets_the_count(make_user, clock) -> None:
    make_user("alice1")
    for _ in range(6):
        clock.now += wait_of("alice1") * SECOND
    clock.now += HOUR
    assert [try_login("alice1") for _ in range(5)] == ["PASSWORD_NOT_CORRECTED"] * 5
    assert wait_of("alice1") == 1


def test_hundreds_of_right_logins_use_nothing_up(make_user, clock) -> None:
    make_user("alice1")
    assert {try_login("alice1", PASSWORD) for _ in range(60)} == {"in"}
    assert {row.count for row in Failures.objects.all()} == {0}


@pytest.mark.parametrize("name", ["nobody1", "ALICE1", "no such name", "爱丽丝们"])
def test_unknown_names_and_other_case_are_slowed_down_alike(name, make_user, clock) -> None:
    make_user("alice1")
    assert [try_login(name) for _ in range(5)] == ["PASSWORD_NOT_CORRECTED"] * 5
    assert wait_of(name.lower()) == 1
    assert wait_of(name) == 1


def test_a_banned_person_with_the_right_password_is_no_failure(make_user, clock) -> None:
    user = make_user("alice1")
    actions.ban(user)
    assert {try_login("alice1", PASSWORD) for _ in range(20)} == {"USER_BANNED"}


def test_an_attempt_that_was_never_decided_counts_for_nothing(
    make_user, clock, monkeypatch
) -> None:
    make_user("alice1")

    def busy(user: object, raw: str) -> bool:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(passwords, "is_right", busy)
        assert {try_login("alice1") for _ in range(20)} == {"UNAVAILABLE"}
    assert try_login("alice1", PASSWORD) == "in"


# --- addresses ----------------------------------------------------------------------------------
def test_fifty_failures_an_hour_from_one_address_are_free_then_strangers_wait(clock) -> None:
    assert {try_login(f"name{number}") for number in range(50)} == {"PASSWORD_NOT_CORRECTED"}
    assert wait_of("name99") == 1
    assert wait_of("name99", AWAY) == 0
    waits = []
    for number in range(8):
        waits.append(wait_of(f"other{number}"))
        clock.now += waits[-1] * SECOND
        wait_of(f"other{number}")
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    clock.now += HOUR
    assert {try_login(f"again{number}") for number in range(50)} == {"PASSWORD_NOT_CORRECTED"}


def test_an_ipv6_household_is_one_address(clock) -> None:
    for number in range(50):
        try_login(f"name{number}", address=f"2001:db8:0:1::{number:x}")
    assert wait_of("name99", "2001:db8:0:1:ffff::1") == 1
    assert wait_of("name99", "2001:db8:0:2::1") == 0


def test_an_ipv4_address_in_ipv6_clothes_is_the_same_address(clock) -> None:
    for _ in range(5):
        try_login("alice1", address=f"::ffff:{HOME}")
    assert wait_of("alice1") == 1


def test_a_person_known_at_an_address_does_not_wait_for_others_there(make_user, clock) -> None:
    make_user("alice1")
    assert try_login("alice1", PASSWORD) == "in"
    failed(budgets.LOGIN_ADDRESS, 50, HOME)
    assert wait_of("name99") == 1
    assert try_login("alice1", PASSWORD) == "in"


def test_an_unknown_proxy_is_warned_about_once(clock, caplog, monkeypatch) -> None:
    monkeypatch.setattr(ip_addresses, "_warned", False)
    for _ in range(3):
        with pytest.raises(PasswordNotCorrected):
            flow.log_in(request_from(HTTP_X_FORWARDED_FOR=AWAY), "nobody1", WRONG, "other")
    assert [record.message for record in caplog.records if "TRUSTED_PROXIES" in record.message]
    assert len(caplog.records) == 1


# --- one account from everywhere ----------------------------------------------------------------
def failed(budget: Guesses, count: int, *parts: str) -> None:
    """Record this number of failures at the current time."""
    now = db.now_ms()
    wait_until = now + attempts.delay_ms(budget, count)
    row = Failures(attempts.key(budget, *parts), count, 0, now, now, wait_until)
    row.save()


def hammer(name: str, times: int) -> list[str]:
    """Fail to log in from this number of addresses."""
    return [
        try_login(name, address=f"203.0.{number // 250}.{number % 250}") for number in range(times)
    ]


def test_strangers_share_a_hundred_failures_a_day_of_one_account(make_user, clock) -> None:
    make_user("alice1")
    failed(budgets.LOGIN_ACCOUNT, 90, "alice1")
    assert set(hammer("alice1", 10)) == {"PASSWORD_NOT_CORRECTED"}
    waits = []
    for number in range(8):
        waits.append(wait_of("alice1", f"2001:db8:{number}::"))
        clock.now += waits[-1] * SECOND
        wait_of("alice1", f"2001:db8:{number}::")
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    clock.now += DAY
    assert try_login("alice1", address="2001:db8:ffff::") == "PASSWORD_NOT_CORRECTED"


def test_a_known_browser_gets_in_while_a_stranger_hammers(make_user, clock) -> None:
    make_user("alice1")
    mine = Client(REMOTE_ADDR=HOME)
    right = {"username": "alice1", "password": PASSWORD}
    assert mine.post("/login", right).status_code == 303
    del mine.cookies["access"], mine.cookies["refresh"]
    TokenVersion.objects.update(address="")

    failed(budgets.LOGIN_ADDRESS, 60, HOME)
    failed(budgets.LOGIN_HERE, 9, "alice1", HOME)
    failed(budgets.LOGIN_ACCOUNT, 150, "alice1")
    assert {try_login("alice1", PASSWORD, place) for place in (HOME, AWAY)} == {"RATE_LIMITED"}
    assert mine.post("/login", right).status_code == 303
    del mine.cookies["access"], mine.cookies["refresh"]
    mine.defaults["REMOTE_ADDR"] = AWAY
    assert mine.post("/login", right).status_code == 303


def test_a_known_browser_has_a_budget_of_its_own(make_user, clock) -> None:
    make_user("alice1")
    make_user("bobby1")
    mine = Client(REMOTE_ADDR=HOME)
    mine.post("/login", {"username": "alice1", "password": PASSWORD})
    del mine.cookies["access"], mine.cookies["refresh"]
    wrong = {"username": "alice1", "password": WRONG}
    assert [mine.post("/login", wrong).status_code for _ in range(6)] == [401] * 5 + [429]
    # Its failures there affect neither other people nor its other accounts.
    assert try_login("alice1", PASSWORD, AWAY) == "in"
    assert mine.post("/login", wrong | {"username": "bobby1"}).status_code == 401


def test_an_api_client_is_known_by_the_address_it_signed_in_from(make_user, clock) -> None:
    make_user("alice1")
    assert try_login("alice1", PASSWORD, "2001:db8:0:7::1") == "in"
    failed(budgets.LOGIN_ACCOUNT, 100, "alice1")
    assert wait_of("alice1", AWAY) == 1
    assert try_login("alice1", PASSWORD, "2001:db8:0:7::2") == "in"


def test_the_cookie_of_a_known_browser_is_signed_and_for_one_account(make_user, clock) -> None:
    alice, bobby = make_user("alice1"), make_user("bobby1")
    mine = Client()
    mine.post("/login", {"username": "alice1", "password": PASSWORD})
    cookie = mine.cookies[known_devices.COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/login")
    request = request_from(HTTP_COOKIE=f"known={cookie.value}")
    assert known_devices.mark_of(request, alice.pk)
    assert not known_devices.mark_of(request, bobby.pk)
    forged = request_from(HTTP_COOKIE=f"known={cookie.value[:-1]}x")
    assert not known_devices.mark_of(forged, alice.pk)


def test_a_shared_browser_stores_marks_of_its_last_people(make_user) -> None:
    mine = Client()
    people = [make_user() for _ in range(known_devices.PEOPLE_MAX + 1)]

    def marks() -> list[str]:
        value = mine.cookies[known_devices.COOKIE].value
        request = request_from(HTTP_COOKIE=f"known={value}")
        return [known_devices.mark_of(request, person.pk) for person in people]

    for person in people:
        mine.post("/login", {"username": person.username, "password": PASSWORD})
        mine.post("/logout")
    before = marks()
    assert [bool(mark) for mark in before] == [False] + [True] * known_devices.PEOPLE_MAX
    mine.post("/login", {"username": people[1].username, "password": PASSWORD})
    assert marks() == before


# --- sign-ups, old passwords, codes ------------------------------------------------------------
def test_refused_sign_ups_count_at_their_address(make_user, clock) -> None:
    make_user("alice1")
    for number in range(50):
        name, error = [("alice1", DuplicatedUser), ("a", RegMatchError)][number % 2]
        with pytest.raises(error):
            flow.sign_up(request_from(), name, "SomeNick", PASSWORD, "other")
    with pytest.raises(RateLimited):
        flow.sign_up(request_from(), "newname1", "SomeNick", PASSWORD, "other")
    flow.sign_up(request_from(AWAY), "newname1", "SomeNick", PASSWORD, "other")


def test_old_passwords_and_codes_have_budgets_of_their_own(make_user, clock) -> None:
    user, other = make_user(), make_user()

    def fail(guard: Callable[[], Any], error: type[AppError]) -> str:
        try:
            with guard():
                raise error
        except AppError as found:
            return found.name

    def code() -> Any:
        return attempts.code(request_from(), user)

    names = [fail(lambda: attempts.password(user), PasswordNotCorrected) for _ in range(6)]
    assert names == ["PASSWORD_NOT_CORRECTED"] * 5 + ["RATE_LIMITED"]
    # A new password that breaks a rule does not count as a failure of the old one.
    broken = [fail(lambda: attempts.password(other), RegMatchError) for _ in range(9)]
    assert set(broken) == {"REG_MATCH_ERROR"}
    codes = [fail(code, OtpNotCorrected) for _ in range(6)]
    assert codes == ["OTP_NOT_CORRECTED"] * 5 + ["RATE_LIMITED"]


@pytest.mark.parametrize("row", [budgets.CODE_DEVICE, budgets.OWN_CODE])
def test_codes_of_a_known_browser_and_of_who_is_signed_in_have_budgets(
    make_user, clock, row: Guesses
) -> None:
    user, response = make_user(), HttpResponse()
    known_devices.remember(request_from(), response, user.pk)
    cookie = f"{known_devices.COOKIE}={response.cookies[known_devices.COOKIE].value}"

    def guess(number: int) -> str:
        # The budgets of addresses do not apply, so any address works.
        request = request_from(f"203.0.113.{number}", HTTP_COOKIE=cookie)
        own = row is budgets.OWN_CODE
        try:
            with attempts.own_code(user) if own else attempts.code(request, user):
                raise OtpNotCorrected
        except AppError as error:
            return error.name

    assert [guess(n) for n in range(7)] == ["OTP_NOT_CORRECTED"] * 5 + ["RATE_LIMITED"] * 2
    # Strangers and log-ins have budgets of their own.
    with pytest.raises(OtpNotCorrected), attempts.code(request_from(), user):
        raise OtpNotCorrected


def test_codes_tried_from_everywhere_are_few(make_user, clock) -> None:
    user = make_user()
    found = []
    for number in range(20):
        try:
            with attempts.code(request_from(f"203.0.113.{number}"), user):
                raise OtpNotCorrected
        except AppError as error:
            found.append(error.name)
    assert found == ["OTP_NOT_CORRECTED"] * 10 + ["RATE_LIMITED"] * 10


# --- clocks, crashes, purging -------------------------------------------------------------------
def test_a_clock_that_is_set_back_makes_no_wait_longer_than_the_rule(make_user, clock) -> None:
    make_user("alice1")
    for _ in range(9):
        clock.now += wait_of("alice1") * SECOND
    assert wait_of("alice1") == 4
    clock.now -= 5 * MINUTE
    assert wait_of("alice1") == 4
    clock.now += 4 * SECOND
    assert try_login("alice1", PASSWORD) == "in"


def test_times_of_a_clock_a_year_ahead_are_ignored(make_user, clock) -> None:
    clock.now += 365 * DAY
    failed(budgets.LOGIN_ACCOUNT, 100, "alice1")
    clock.now -= 365 * DAY
    assert wait_of("alice1", AWAY) == 1
    clock.now += DAY
    assert {try_login("alice1", address=AWAY) for _ in range(5)} == {"PASSWORD_NOT_CORRECTED"}


def test_an_attempt_whose_process_was_killed_counts_as_failed_after_a_minute(
    make_user, clock
) -> None:
    make_user("alice1")
    try_login("alice1")
    Failures.objects.update(pending=4)
    clock.now += MINUTE
    assert wait_of("alice1") == 1
    clock.now += SECOND
    assert try_login("alice1", PASSWORD) == "in"


def test_old_rows_are_purged_by_the_task(clock) -> None:
    from accounts.tasks import purge_attempts

    hammer("alice1", 5)
    clock.now += DAY
    try_login("nobody1", address=HOME)
    assert Failures.objects.count() == 14
    clock.now += 1
    purge_attempts()
    assert Failures.objects.count() == 3


def test_no_row_reveals_a_person_or_an_address(clock) -> None:
    try_login("alice1")
    text = str(list(Failures.objects.values()))
    assert "alice" not in text
    assert HOME not in text


# --- the entries --------------------------------------------------------------------------------
def test_api_and_page_show_the_wait(make_user, api, client, clock) -> None:
    make_user("alice1")
    body = {"username": "alice1", "password": WRONG}
    for _ in range(5):
        assert api.post("/api/v1/auth/login", body, format="json").status_code == 401
    response = api.post("/api/v1/auth/login", body | {"password": PASSWORD}, format="json")
    assert (response.status_code, response.json()["code"]) == (429, 11)
    assert response["Retry-After"] == "1"
    page = client.post("/login", body)
    assert (page.status_code, page["Retry-After"]) == (429, "1")
    assert "Please wait 1 second." in page.content.decode()
    clock.now += SECOND
    for _ in range(7):
        api.post("/api/v1/auth/login", body, format="json")
        clock.now += wait_of("alice1", "127.0.0.1") * SECOND
    clock.now -= SECOND
    client.cookies["django_language"] = "zh-hans"
    assert "请等待 " in client.post("/login", body).content.decode()


def test_budgets_are_enforced_without_redis(make_user, monkeypatch, clock) -> None:
    make_user("alice1")

    def down(*args: object, **kwargs: object) -> Any:
        raise redis.RedisDown

    monkeypatch.setattr(redis, "call", down)
    assert [try_login("alice1") for _ in range(6)][4:] == ["PASSWORD_NOT_CORRECTED", "RATE_LIMITED"]


# --- real transactions in real threads ----------------------------------------------------------
class SlowChecks:
    """Password checks that end only when all attempts of the test have asked to be admitted."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._attempts = 0
        self._asked: set[int] = set()
        self._all_asked = threading.Event()

    def at_once(self, attempts: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make the attempts in threads of their own; none is decided before the last one asked."""
        self._attempts = len(attempts)
        return at_once(attempts)

    def ask(self, enter: Callable[..., tuple[bool, int]], keys: Any) -> tuple[bool, int]:
        found = enter(keys)
        self._asked.add(threading.get_ident())
        if len(self._asked) == self._attempts:
            self._all_asked.set()
        return found

    def is_right(self, user: Any, raw: str) -> bool:
        assert self._all_asked.wait(LIMIT)
        self.seen.append(raw)
        return user is not None and raw == PASSWORD


@pytest.fixture
def slow_checks(clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowChecks]:
    """Make checks outlast the other attempts, while no delay of guesses ends."""
    found = SlowChecks()
    monkeypatch.setattr(attempts, "_enter", partial(found.ask, attempts._enter))
    monkeypatch.setattr(passwords, "is_right", found.is_right)
    # Nobody gives up waiting: fifty checks may take long on a busy machine.
    monkeypatch.setattr(attempts, "TURN_SECONDS", 3600)
    yield found
    connection.close()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["alice1", "nobody1"])
def test_five_of_fifty_wrong_passwords_at_once_are_checked(name, make_user, slow_checks) -> None:
    make_user("alice1")
    results = slow_checks.at_once([lambda: try_login(name)] * 50)
    assert sorted(results) == ["PASSWORD_NOT_CORRECTED"] * 5 + ["RATE_LIMITED"] * 45
    assert len(slow_checks.seen) == 5
    assert {(row.count, row.pending) for row in Failures.objects.all()} == {(5, 0)}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_fifty_right_passwords_at_once_all_get_in(make_user, slow_checks) -> None:
    make_user("alice1")
    results = slow_checks.at_once([lambda: try_login("alice1", PASSWORD)] * 50)
    assert results == ["in"] * 50
    assert {(row.count, row.pending) for row in Failures.objects.all()} == {(0, 0)}


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_fifty_names_at_once_from_one_address_leave_its_budget_exact(slow_checks) -> None:
    results = slow_checks.at_once([lambda n=number: try_login(f"name{n}") for number in range(60)])
    assert sorted(set(results)) == ["PASSWORD_NOT_CORRECTED", "RATE_LIMITED"]
    assert results.count("PASSWORD_NOT_CORRECTED") == 50


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_crossing_budgets_do_not_lock_each_other_out(make_user, slow_checks) -> None:
    names = [make_user().username for _ in range(4)]
    calls = [
        lambda name=name, number=number: try_login(name, PASSWORD, f"203.0.113.{number}")
        for name in names
        for number in range(6)
    ]
    assert slow_checks.at_once(calls) == ["in"] * 24


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_an_api_client_may_be_refused_but_never_sees_an_error(make_user, slow_checks) -> None:
    make_user("alice1")
    body = {"username": "alice1", "password": WRONG}

    def post() -> int:
        return APIClient().post("/api/v1/auth/login", body, format="json").status_code

    assert set(slow_checks.at_once([post] * 20)) == {401, 429}


def test_user_banned_is_still_raised_through_the_guard(make_user) -> None:
    user = make_user("alice1")
    with pytest.raises(UserBanned), attempts.login(request_from(), user.username):
        raise UserBanned
