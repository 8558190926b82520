"""The handshake of `/ws/session/`: credentials, tickets, origins."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.test import Client

from accounts import actions, cache, live_hints
from accounts.tests.live.talk import ORIGIN, Socket, claims_of, in_thread, opens, over, run
from socialsite.core import redis

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(
    ("access", "refresh", "code"),
    [
        ("", "", 4001),
        ("garbage", "", 4001),
        ("refresh", "", 4001),
        ("expired", "", 4002),
        ("", "refresh", 4002),
        ("logged out", "", 4001),
        ("banned", "", 4001),
        ("other roles", "", 4002),
    ],
)
def test_a_socket_without_a_live_token_is_closed_with_the_right_code(
    access, refresh, code, user
) -> None:
    pair = actions.sign_in(user, "chrome")
    match access:
        case "logged out":
            actions.log_out(user, "chrome")
        case "banned":
            actions.ban(user)
        case "other roles":
            actions.promote(user, 3)
    found = {
        "": "",
        "garbage": "garbage",
        "refresh": pair.refresh,
        "expired": over(pair.access),
    }

    async def scenario() -> None:
        socket = Socket.by_cookie(found.get(access, pair.access), pair.refresh if refresh else "")
        assert await socket.open()  # a refused handshake would hide the code from the page
        assert (await socket.code())[0] == code

    run(scenario)


@pytest.mark.parametrize(
    ("state", "code", "reason"),
    [
        ("lives", 4002, ""),
        ("other roles", 4002, ""),
        ("ended", 4001, "login"),
        ("expired", 4001, "expired"),
        ("garbage", 4001, ""),
    ],
)
@pytest.mark.parametrize("access", ["", "expired"])
def test_an_expired_browser_session_is_closed_by_the_state_of_its_refresh_token(
    access, state, code, reason, user
) -> None:
    pair = actions.sign_in(user, "chrome")
    refresh = pair.refresh
    match state:
        case "ended":
            actions.sign_in(user, "chrome")
        case "other roles":
            actions.promote(user, 3)
        case "expired":
            refresh = over(pair.refresh)
        case "garbage":
            refresh = "garbage"

    async def scenario() -> None:
        socket = Socket.by_cookie(over(pair.access) if access else "", refresh)
        assert await socket.open()
        assert await socket.code() == (code, reason)

    run(scenario)


# --- which pages may ask ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("origin", "cookie", "program"),
    [
        ("http://localhost:8000", True, True),
        (settings.SITE_URL, True, True),  # whatever the Host header says
        (None, False, True),
        ("https://evil.example", False, False),
        ("http://localhost:9999", False, False),
        ("https://localhost:8000", False, False),
        ("http://localhost:8000.evil.example", False, False),
        ("null", False, False),
        ("", False, False),
    ],
)
def test_cookies_need_our_origin_and_a_foreign_one_opens_nothing(
    origin, cookie, program, user
) -> None:
    pair = actions.sign_in(user)
    extra = [] if origin is None else [(b"origin", origin.encode())]

    async def scenario() -> None:
        assert await opens((b"cookie", f"access={pair.access}".encode()), *extra) == cookie
        assert await opens((b"authorization", f"Bearer {pair.access}".encode()), *extra) == program
        ticket = await in_thread(cache.store_ticket, claims_of(pair))
        assert await opens(*extra, ticket=ticket) == program

    run(scenario)


def test_an_origin_is_compared_with_our_hosts_only_and_logged_once(user) -> None:
    cookie = (b"cookie", f"access={actions.sign_in(user).access}".encode())
    evil = (b"host", b"evil.example"), (b"origin", b"http://evil.example")

    async def scenario() -> None:
        assert not await opens(cookie, *evil)
        assert not await opens(cookie, (b"host", b""), (b"origin", b"http://"))
        assert not await opens(cookie, (b"origin", b"https://evil.example"), ORIGIN)
        assert not await opens(cookie, ORIGIN, scheme="wss")
        assert await opens(cookie, (b"origin", b"https://localhost:8000"), scheme="wss")

    run(scenario)


# --- tickets ------------------------------------------------------------------------------------
def test_a_ticket_opens_one_socket_once(user, api_for) -> None:
    answer = api_for(user, "android").post("/api/v1/auth/ws-ticket")
    assert answer.status_code == 200
    ticket = answer.json()["ticket"]
    # stored as a hash only
    assert redis.call(lambda connection: connection.keys(f"*{ticket}*")) == []

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        await in_thread(live_hints.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.receive() == {"type": "new_posts", "count": 1}
        again = Socket(ticket=ticket)
        assert await again.open()
        assert await again.code() == (4002, "")
        await in_thread(actions.log_out, user, "android")
        assert (await socket.code())[0] == 4001

    run(scenario)


def test_a_hundred_sockets_with_one_ticket_are_one(user) -> None:
    ticket = cache.store_ticket(claims_of(actions.sign_in(user)))
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(cache.redeem_ticket, [ticket] * 100))
    assert len([one for one in found if one is not None]) == 1


@pytest.mark.parametrize(
    "ticket",
    ["unknown", pytest.param("x" * 5000, id="long"), "%00", "%ff%fe", "&ticket=2"],
)
def test_a_ticket_that_opens_nothing_sends_for_a_new_one(ticket, user) -> None:
    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert await socket.code() == (4002, "")

    run(scenario)


def test_a_ticket_runs_out(user) -> None:
    claims, began = claims_of(actions.sign_in(user)), time.monotonic()
    ticket = cache.store_ticket(claims)
    left = redis.call(lambda connection: connection.pttl(cache._ticket(ticket)))
    assert 29_999 - (time.monotonic() - began) * 1000 < left <= 30_000
    redis.call(lambda connection: connection.pexpire(cache._ticket(ticket), 0))
    assert cache.redeem_ticket(ticket) is None


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda user: actions.log_out(user, "chrome"), 4001),
        (lambda user: actions.promote(user, 3), 4002),
    ],
)
def test_a_ticket_is_valid_only_while_its_token_is(act, code, user) -> None:
    ticket = cache.store_ticket(claims_of(actions.sign_in(user, "chrome")))
    act(user)

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert (await socket.code())[0] == code

    run(scenario)


def test_tickets_are_for_the_signed_in(user, api, client) -> None:
    answer = api.post("/api/v1/auth/ws-ticket")
    assert (answer.status_code, answer.json()["code"]) == (401, 14)
    client.cookies["access"] = actions.sign_in(user).access
    csrf = Client(enforce_csrf_checks=True)
    csrf.cookies["access"] = client.cookies["access"]
    answer = csrf.post("/api/v1/auth/ws-ticket")
    assert (answer.status_code, answer.json()["code"]) == (403, 19)
    assert client.post("/api/v1/auth/ws-ticket").status_code == 200


def test_without_redis_there_are_no_tickets(user, api_for, monkeypatch, real_lifetimes) -> None:
    def down(function):
        raise redis.RedisDown("cut off")

    client = api_for(user)
    monkeypatch.setattr(redis, "call", down)
    answer = client.post("/api/v1/auth/ws-ticket")
    assert (answer.status_code, answer.json()["code"]) == (503, 21)
    assert answer["Retry-After"] == "2"

    async def scenario() -> None:
        socket = Socket(ticket="any")
        assert await socket.open()
        assert await socket.code() == (1013, "")

    run(scenario)


@pytest.mark.parametrize("path", ["/ws/nothing/", "/ws/session/more", "/", "/ws/会/"])
def test_a_socket_at_no_address_is_refused_without_a_word_in_the_log(path, caplog) -> None:
    async def scenario() -> None:
        assert not await opens(path=path)

    run(scenario)
    assert not caplog.records
