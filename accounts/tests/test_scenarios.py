"""Every way to end a sign-in, checked on every surface, in every state of Redis.

A row of the table gives the expected state of a person's two devices. Each pair is then tried over
HTTP with the access token, by the refresh token, in the admin and over a socket.
"""

import asyncio
import socket as network
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import redis as redis_py
from django.test import Client
from redis.backoff import NoBackoff
from redis.retry import Retry
from rest_framework.test import APIClient

from accounts import actions, tokens
from accounts.live import consumers
from accounts.models import Role, User
from accounts.tests.browsers import log_in
from accounts.tests.live.talk import Socket, in_thread, run
from accounts.tokens import TokenPair
from socialsite.core import redis

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.full]

PASSWORD, NEW_PASSWORD = "right.pass1", "other.pass2"

# A live pair; a pair without a live token; a pair whose refresh token fetches a new access token; a
# dead pair whose client got a new one at the same time, so that its open pages stay signed in.
ALIVE, DEAD, STALE, REPLACED = "alive", "dead", "stale", "replaced"


@dataclass
class World:
    """A moderator with two devices, and the new pairs from the scenario."""

    user: User
    phone: TokenPair
    desk: TokenPair
    fresh: list[TokenPair] = field(default_factory=list)


def log_out(world: World) -> None:
    actions.log_out(world.user, "android")


def kick(world: World) -> None:
    actions.kick(world.user, "android", by="Firefox, Linux")


def kick_others(world: World) -> None:
    actions.kick_others(world.user, "firefox", by="Firefox, Linux")


def log_in_again(world: World) -> None:
    world.fresh.append(log_in(world.user.username, PASSWORD, "android")[1])


def change_password(world: World) -> None:
    world.fresh.append(actions.change_password(world.user, "firefox", PASSWORD, NEW_PASSWORD))


def ban(world: World) -> None:
    actions.ban(world.user)


def ban_and_lift(world: World) -> None:
    actions.ban(world.user)
    actions.unban(world.user)
    world.fresh.append(log_in(world.user.username, PASSWORD, "android")[1])


def force_offline(world: World) -> None:
    actions.force_offline(world.user)
    world.fresh.append(log_in(world.user.username, PASSWORD, "android")[1])


def change_roles(world: World) -> None:
    actions.promote(world.user, Role.MEMBER | Role.ADMIN)


# Scenario, then the expected state of the phone's pair and of the desk's pair.
TABLE: list[tuple[Callable[[World], None], str, str]] = [
    (log_out, DEAD, ALIVE),
    (kick, DEAD, ALIVE),
    (kick_others, DEAD, ALIVE),
    (log_in_again, DEAD, ALIVE),
    (change_password, DEAD, REPLACED),
    (ban, DEAD, DEAD),
    (ban_and_lift, DEAD, DEAD),
    (force_offline, DEAD, DEAD),
    (change_roles, STALE, STALE),
]


# --- states of Redis ----------------------------------------------------------------------------
@contextmanager
def warm() -> Iterator[None]:
    yield


@contextmanager
def empty() -> Iterator[None]:
    redis.call(lambda connection: connection.flushdb())
    yield


@contextmanager
def _at(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Point the site's Redis client at a port of ours, with the site's own timeouts."""
    other = redis_py.Redis(
        port=port,
        socket_timeout=0.2,
        socket_connect_timeout=0.2,
        retry=Retry(NoBackoff(), 0),
    )
    monkeypatch.setattr(redis, "client", lambda: other)
    yield
    monkeypatch.undo()
    redis.breaker.reset()


@contextmanager
def dead() -> Iterator[None]:
    with network.socket() as closed, pytest.MonkeyPatch.context() as monkeypatch:
        closed.bind(("127.0.0.1", 0))  # never listens: refused
        with _at(closed.getsockname()[1], monkeypatch):
            yield


@contextmanager
def hanging() -> Iterator[None]:
    with network.socket() as silent, pytest.MonkeyPatch.context() as monkeypatch:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)  # the kernel accepts, no process answers
        with _at(silent.getsockname()[1], monkeypatch):
            yield


STATES = {"warm": warm, "empty": empty, "dead": dead, "hanging": hanging}


# --- surfaces -----------------------------------------------------------------------------------
def _code(response: Any) -> tuple[int, int | None]:
    return response.status_code, response.json().get("code") if response.content else None


def over_http(pair: TokenPair) -> str:
    """Request with the access token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
    return {(200, None): ALIVE, (401, 8): "no access"}[_code(client.get("/api/v1/users/me"))]


def by_refresh(pair: TokenPair) -> str:
    """Exchange the refresh token; the new pair must be live."""
    answer = APIClient().post("/api/v1/auth/refresh", {"refresh": pair.refresh}, format="json")
    found = {(200, None): ALIVE, (401, 7): "no refresh"}[_code(answer)]
    if found == ALIVE:
        assert over_http(TokenPair(**answer.json())) == ALIVE
    return found


def in_admin(pair: TokenPair) -> str:
    """Open the admin with both cookies, as a browser has them."""
    client = Client()
    client.cookies["access"], client.cookies["refresh"] = pair
    response = client.get("/admin/")
    return {200: ALIVE, 302: "no admin"}[response.status_code]


def in_admin_by_access(pair: TokenPair) -> str:
    """Open the admin with the access cookie alone."""
    client = Client()
    client.cookies["access"] = pair.access
    return {200: ALIVE, 302: "no admin"}[client.get("/admin/").status_code]


async def _socket(pair: TokenPair, expected: str) -> str:
    socket = Socket.by_cookie(*pair)
    assert await socket.open()
    if expected == ALIVE and await socket.is_silent():
        await socket.leave()
        return ALIVE
    return str((await socket.code())[0])


def by_socket(*shown: tuple[TokenPair, str]) -> list[str]:
    """Open a socket with each pair and check whether it stays open.

    A socket whose expected state is "closed" may take a while.
    """

    async def scenario() -> list[str]:
        return await asyncio.gather(*(_socket(pair, expected) for pair, expected in shown))

    answers: list[str] = run(scenario)
    return answers


# In this order, since the refresh rotates; the socket comes last.
SURFACES = (over_http, in_admin_by_access, in_admin, by_refresh)
EXPECTED = {
    ALIVE: (ALIVE, ALIVE, ALIVE, ALIVE, ALIVE),
    DEAD: ("no access", "no admin", "no admin", "no refresh", "4001"),
    STALE: ("no access", "no admin", ALIVE, ALIVE, "4002"),
    REPLACED: ("no access", "no admin", "no admin", "no refresh", "4002"),
}


def code_of(expected: str) -> str:
    """Return the expected close code, or ALIVE."""
    return EXPECTED[expected][-1]


def status_of(*shown: tuple[TokenPair, str]) -> list[tuple[str, ...]]:
    """Return the result of every surface for each pair, given with its expected state."""
    answers = [tuple(surface(pair) for surface in SURFACES) for pair, _ in shown]
    closed = by_socket(*((pair, code_of(expected)) for pair, expected in shown))
    return [(*said, code) for said, code in zip(answers, closed, strict=True)]


@pytest.fixture
def world(make_user: Any) -> World:
    user = make_user(password=PASSWORD)
    actions.promote(user, Role.MEMBER | Role.MODERATOR)
    phone = actions.sign_in(user, "android")
    return World(user, phone, actions.sign_in(user, "firefox"))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("act", "phone", "desk"), TABLE, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_scenario_ends_what_it_should_and_nothing_else_on_every_surface(
    act: Callable[[World], None], phone: str, desk: str, state: str, world: World
) -> None:
    both = world.phone, world.desk
    for pair in both:
        assert {over_http(pair), in_admin(pair)} == {ALIVE}  # also warms the cache
    assert by_socket(*((pair, ALIVE) for pair in both)) == [ALIVE, ALIVE]
    with STATES[state]():
        act(world)
        shown = [(world.phone, phone), (world.desk, desk), *((one, ALIVE) for one in world.fresh)]
        assert status_of(*shown) == [EXPECTED[expected] for _, expected in shown]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("act", "phone", "desk"), TABLE, ids=lambda value: getattr(value, "__name__", value)
)
def test_open_sockets_are_closed_and_the_others_stay(
    act: Callable[[World], None],
    phone: str,
    desk: str,
    state: str,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.2)

    pairs = {"phone": world.phone, "desk": world.desk}
    wanted = {"phone": code_of(phone), "desk": code_of(desk)}

    async def scenario() -> dict[str, str]:
        open_sockets = {name: Socket.by_cookie(*pair) for name, pair in pairs.items()}
        for socket in open_sockets.values():
            assert await socket.open()
        found = {}
        with STATES[state]():
            await in_thread(act, world)
            for name, socket in open_sockets.items():
                if wanted[name] == ALIVE and await socket.is_silent():
                    found[name] = ALIVE
                    await socket.leave()
                else:
                    found[name] = str((await socket.code())[0])
        return found

    assert run(scenario) == wanted


def test_a_ban_is_revealed_only_after_a_right_password(world: World) -> None:
    actions.ban(world.user)
    body = {"username": world.user.username, "password": PASSWORD}
    assert _code(APIClient().post("/api/v1/auth/login", body, format="json")) == (403, 3)
    body["password"] = "wrong.pass1"
    assert _code(APIClient().post("/api/v1/auth/login", body, format="json")) == (401, 2)


def test_new_roles_are_in_the_access_token_that_the_refresh_fetches(world: World) -> None:
    assert tokens.decode_access(world.phone.access).roles == Role.MEMBER | Role.MODERATOR
    change_roles(world)
    _user, pair = actions.refresh(world.phone.refresh)
    assert tokens.decode_access(pair.access).roles == Role.MEMBER | Role.ADMIN
