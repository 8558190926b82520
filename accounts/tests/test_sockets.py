"""`/ws/session/`: who gets in, what arrives, who is thrown out and when (T7, reliability 2.10)."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import jwt
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.test import Client

from accounts import actions, cache, consumers, sockets, tokens
from accounts.events import TokensRevoked
from socialsite.asgi import application
from socialsite.core import redis

pytestmark = pytest.mark.django_db(transaction=True)

HOST = (b"host", b"localhost:8000")
ORIGIN = (b"origin", b"http://localhost:8000")


def run(scenario: Callable[[], Awaitable[Any]]) -> Any:
    """Run a scenario to its end in a loop of its own."""

    async def all_of_it() -> Any:
        try:
            return await asyncio.wait_for(scenario(), 30)
        finally:
            await get_channel_layer().flush()

    return async_to_sync(all_of_it)()


class Socket:
    """One socket of a test (Channels' own helper needs a server that the site does not use)."""

    def __init__(self, *headers: tuple[bytes, bytes], ticket: str = "", scheme: str = "ws") -> None:
        scope = {
            "type": "websocket",
            "scheme": scheme,
            "path": "/ws/session/",
            "query_string": f"ticket={ticket}".encode() if ticket else b"",
            "headers": [*headers]
            if any(name == b"host" for name, _ in headers)
            else [HOST, *headers],
            "subprotocols": [],
        }
        self._talk = ApplicationCommunicator(application, scope)

    @classmethod
    def by_cookie(cls, access: str = "", refresh: str = "") -> "Socket":
        return cls((b"cookie", f"access={access}; refresh={refresh}".encode()), ORIGIN)

    @classmethod
    def by_bearer(cls, access: str) -> "Socket":
        return cls((b"authorization", f"Bearer {access}".encode()))

    async def open(self) -> bool:
        await self._talk.send_input({"type": "websocket.connect"})
        return (await self._talk.receive_output(timeout=10))["type"] == "websocket.accept"

    async def hears(self) -> Any:
        return json.loads((await self._talk.receive_output(timeout=10))["text"])

    async def hears_nothing(self) -> bool:
        return await self._talk.receive_nothing(timeout=0.3)

    async def says(self, text: str) -> None:
        await self._talk.send_input({"type": "websocket.receive", "text": text})

    async def code(self) -> tuple[int, str]:
        """Wait for the end; returns code and reason, messages before it are passed over."""
        while True:
            message = await self._talk.receive_output(timeout=10)
            if message["type"] == "websocket.close":
                await self.leave()
                return message["code"], message.get("reason") or ""

    async def leave(self) -> None:
        await self._talk.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._talk.wait(timeout=10)


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Act from another thread, as a view or a worker does."""
    return await database_sync_to_async(function, thread_sensitive=True)(*args, **kwargs)


@pytest.fixture
def quick(monkeypatch) -> None:
    """Let the socket look for itself often."""
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)


@pytest.fixture
def deaf(monkeypatch) -> None:
    """A channel layer that loses everything."""
    monkeypatch.setattr(sockets, "_send", lambda user_ids, event: None)


@pytest.fixture
def user(make_user):
    return make_user()


@pytest.mark.parametrize("way", ["by_cookie", "by_bearer"])
def test_a_push_arrives_at_every_socket_of_the_person_and_nobody_else(way, user, make_user) -> None:
    other = make_user()
    pairs = [actions.sign_in(user, "chrome"), actions.sign_in(user, "android")]
    strange = actions.sign_in(other)

    async def scenario() -> None:
        mine = [getattr(Socket, way)(pair.access) for pair in pairs]
        theirs = Socket.by_cookie(strange.access)
        for socket in (*mine, theirs):
            assert await socket.open()
        await in_thread(sockets.push, [user.pk, 1], {"type": "new_posts", "count": 1})
        for socket in mine:
            assert await socket.hears() == {"type": "new_posts", "count": 1}
        assert await theirs.hears_nothing()
        for socket in (*mine, theirs):
            await socket.leave()

    run(scenario)


def test_a_push_to_a_thousand_people_is_one_round_trip(monkeypatch, db) -> None:
    seen: list[object] = []
    call = redis.call
    monkeypatch.setattr(redis, "call", lambda function: (seen.append(function), call(function))[1])
    sockets.push(range(1000), {"type": "new_posts"})
    assert len(seen) == 1


def test_a_push_never_raises(monkeypatch, user) -> None:
    def down(function):
        raise redis.RedisDown("cut off")

    monkeypatch.setattr(redis, "call", down)
    sockets.push([user.pk], {"type": "new_posts"})
    sockets.push([user.pk], {"type": object()})
    assert sockets.online([user.pk]) == sockets.all_online() == set()


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
def test_a_socket_without_a_live_token_is_closed_with_the_code_that_says_what_to_do(
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
    payload = jwt.decode(pair.access, options={"verify_signature": False}) | {"exp": 1}
    key = settings.JWT_KEYS[0]
    found = {
        "": "",
        "garbage": "garbage",
        "refresh": pair.refresh,
        "expired": jwt.encode(payload, key, "HS256", {"kid": tokens.key_id(key)}),
    }

    async def scenario() -> None:
        socket = Socket.by_cookie(found.get(access, pair.access), pair.refresh if refresh else "")
        assert await socket.open()  # a refused handshake would not tell the page the code
        assert (await socket.code())[0] == code

    run(scenario)


# --- which pages may ask ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("origin", "cookie", "program"),
    [
        ("http://localhost:8000", True, True),
        (settings.SITE_URL, True, True),  # by whatever name it was reached
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
        ticket = await in_thread(cache.keep_ticket, claims_of(pair))
        assert await opens(*extra, ticket=ticket) == program

    run(scenario)


def test_an_origin_is_compared_with_a_host_of_ours_only_and_said_once(user) -> None:
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
def claims_of(pair: tokens.TokenPair) -> dict[str, Any]:
    return asdict(tokens.decode_access(pair.access))


async def opens(*headers: tuple[bytes, bytes], **kwargs: Any) -> bool:
    """True when a socket opens and stays open."""
    socket = Socket(*headers, **kwargs)
    if not await socket.open():
        return False
    assert await socket.hears_nothing()
    await socket.leave()
    return True


def test_a_ticket_opens_one_socket_once(user, api_for) -> None:
    answer = api_for(user, "android").post("/api/v1/auth/ws-ticket")
    assert answer.status_code == 200
    ticket = answer.json()["ticket"]
    assert redis.call(lambda connection: connection.keys(f"*{ticket}*")) == []  # kept by its hash

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        await in_thread(sockets.push, [user.pk], {"type": "new_posts", "count": 1})
        assert await socket.hears() == {"type": "new_posts", "count": 1}
        again = Socket(ticket=ticket)
        assert await again.open()
        assert await again.code() == (4002, "")
        await in_thread(actions.log_out, user, "android")
        assert (await socket.code())[0] == 4001

    run(scenario)


def test_a_hundred_sockets_with_one_ticket_are_one(user) -> None:
    ticket = cache.keep_ticket(claims_of(actions.sign_in(user)))
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(cache.take_ticket, [ticket] * 100))
    assert len([one for one in found if one is not None]) == 1


@pytest.mark.parametrize("ticket", ["unknown", "x" * 5000, "%00", "%ff%fe", "&ticket=2"])
def test_a_ticket_that_opens_nothing_sends_for_a_new_one(ticket, user) -> None:
    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert await socket.code() == (4002, "")

    run(scenario)


def test_a_ticket_runs_out(user) -> None:
    ticket = cache.keep_ticket(claims_of(actions.sign_in(user)))
    left = redis.call(lambda connection: connection.pttl(cache._ticket(ticket)))
    assert 29_000 < left <= 30_000
    redis.call(lambda connection: connection.pexpire(cache._ticket(ticket), 1))
    time.sleep(0.01)
    assert cache.take_ticket(ticket) is None


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda user: actions.log_out(user, "chrome"), 4001),
        (lambda user: actions.promote(user, 3), 4002),
    ],
)
def test_a_ticket_is_worth_what_its_token_is_worth_when_it_is_shown(act, code, user) -> None:
    ticket = cache.keep_ticket(claims_of(actions.sign_in(user, "chrome")))
    act(user)

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert (await socket.code())[0] == code

    run(scenario)


def test_a_socket_by_ticket_ends_when_its_token_ends(user, quick) -> None:
    claims = claims_of(actions.sign_in(user)) | {"expires": int(time.time()) + 2}
    ticket = cache.keep_ticket(claims)

    async def scenario() -> None:
        socket = Socket(ticket=ticket)
        assert await socket.open()
        assert await socket.hears_nothing()
        assert await socket.code() == (4002, "")

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


def test_without_redis_there_are_no_tickets(user, api_for, monkeypatch) -> None:
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


# --- kicks --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda user: actions.sign_in(user, "chrome"), "login"),
        (lambda user: actions.log_out(user, "chrome", reason="kicked"), "kicked"),
        (actions.ban, "ban"),
    ],
)
def test_a_kick_closes_the_socket_at_once_and_says_why(act, reason, user) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(act, user)
        assert await socket.hears() == {"type": "kicked", "reason": reason}
        assert await socket.code() == (4001, reason)

    run(scenario)


def test_a_kick_of_one_device_leaves_the_others_and_a_newer_sign_in_alone(user) -> None:
    chrome, phone = actions.sign_in(user, "chrome"), actions.sign_in(user, "android")

    async def scenario() -> None:
        old, other = Socket.by_cookie(chrome.access), Socket.by_cookie(phone.access)
        assert await old.open()
        assert await other.open()
        pair = await in_thread(actions.sign_in, user, "chrome")
        new = Socket.by_cookie(pair.access)
        assert await new.open()
        assert (await old.code())[0] == 4001
        await in_thread(sockets.kick, TokensRevoked(user.pk, "chrome", 1, "login", False))
        assert await new.hears_nothing()
        assert await other.hears_nothing()
        await new.leave()
        await other.leave()

    run(scenario)


def test_new_roles_make_the_socket_come_back_with_a_new_token(user) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(actions.promote, user, 3)
        assert await socket.code() == (4002, "")

    run(scenario)


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (lambda user: actions.log_out(user, "chrome"), 4001),
        (actions.ban, 4001),
        (lambda user: actions.promote(user, 3), 4002),
    ],
)
def test_without_any_message_the_socket_looks_itself(act, code, user, quick, deaf) -> None:
    pair = actions.sign_in(user, "chrome")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await in_thread(act, user)
        assert (await socket.code())[0] == code

    run(scenario)


def test_a_socket_looks_at_least_every_five_seconds() -> None:
    assert consumers.RECHECK_SECONDS <= 5


def test_nothing_is_passed_on_to_a_dead_token(user, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")
    send = sockets._send

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        monkeypatch.setattr(sockets, "_send", lambda user_ids, event: None)
        await in_thread(actions.log_out, user, "chrome")
        monkeypatch.setattr(sockets, "_send", send)
        await in_thread(sockets.push, [user.pk], {"type": "secret"})
        assert await socket.hears() == {"type": "kicked", "reason": "revoked"}
        assert (await socket.code())[0] == 4001

    run(scenario)


@pytest.mark.parametrize("first", ["the revocation", "the check"])
def test_a_revocation_while_the_socket_opens_is_never_missed(first, user, monkeypatch) -> None:
    pair = actions.sign_in(user, "chrome")
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 60)
    look = consumers._look

    def late(principal: tokens.Principal) -> None:
        if first == "the check":
            look(principal)
        actions.log_out(user, "chrome")
        if first == "the revocation":
            look(principal)

    monkeypatch.setattr(consumers, "_look", late)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        assert (await socket.code())[0] == 4001

    run(scenario)


def test_a_token_whose_time_is_over_closes_the_socket(user, quick) -> None:
    pair = actions.sign_in(user, "chrome")
    payload = jwt.decode(pair.access, options={"verify_signature": False})
    key = settings.JWT_KEYS[0]
    payload["exp"] = int(time.time()) + 2
    short = jwt.encode(payload, key, "HS256", {"kid": tokens.key_id(key)})

    async def scenario() -> None:
        socket = Socket.by_cookie(short)
        assert await socket.open()
        assert await socket.code() == (4002, "")

    run(scenario)


def test_what_the_browser_says_is_ignored_and_much_of_it_refused(user) -> None:
    pair = actions.sign_in(user)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        for text in ("{", "null", '{"type":"session.kick"}', "x" * 1024):
            await socket.says(text)
        assert await socket.hears_nothing()
        await socket.says("x" * 1025)
        assert (await socket.code())[0] == 1009

    run(scenario)


def test_presence_is_noted_and_runs_out(user, make_user, monkeypatch) -> None:
    pair, other = actions.sign_in(user), make_user()

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await socket.leave()

    assert sockets.all_online() == set()
    run(scenario)
    assert sockets.all_online() == sockets.online([user.pk, other.pk]) == {user.pk}
    now = sockets._now_ms()
    monkeypatch.setattr(sockets, "_now_ms", lambda: now + sockets.ONLINE_MS + 1000)
    assert sockets.all_online() == sockets.online([user.pk, other.pk]) == set()


def test_presence_is_kept_while_the_socket_is_open(user, quick) -> None:
    pair = actions.sign_in(user)

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        await sync_to_async(redis.call)(lambda connection: connection.delete(sockets.ONLINE))
        await asyncio.sleep(0.5)
        assert await in_thread(sockets.online, [user.pk]) == {user.pk}
        await socket.leave()

    run(scenario)


def test_without_redis_nobody_gets_in_and_nothing_spins(user, monkeypatch) -> None:
    pair = actions.sign_in(user)

    async def refuse(*args: Any) -> None:
        raise ConnectionError("no channel layer")

    async def scenario() -> None:
        layer = get_channel_layer()._get_layer()
        monkeypatch.setattr(layer, "group_add", refuse)
        assert not await Socket.by_cookie(pair.access).open()

    run(scenario)


def test_without_an_answer_the_socket_is_closed_not_trusted(user, quick, monkeypatch) -> None:
    pair = actions.sign_in(user)

    def broken(principal: tokens.Principal) -> None:
        raise ConnectionError("no database")

    async def scenario() -> None:
        socket = Socket.by_cookie(pair.access)
        assert await socket.open()
        monkeypatch.setattr(consumers, "_look", broken)
        assert (await socket.code())[0] == 1013

    run(scenario)
