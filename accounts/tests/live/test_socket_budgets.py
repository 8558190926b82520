"""Budgets of sockets: open ones, new ones, and frames through one."""

from typing import Any

import pytest

from accounts import actions
from accounts.tests.live.talk import Socket, run
from socialsite.core.rate_limits import local
from socialsite.core.rate_limits.budget import Rate
from socialsite.core.rate_limits.budgets import HANDSHAKE

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]

TOO_MUCH = 4008


@pytest.fixture
def access(make_user: Any) -> str:
    return actions.sign_in(make_user(), "android").access


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that advances the clock by seconds."""
    passed = [1000.0]
    monkeypatch.setattr(local, "clock", lambda: passed[0])
    return lambda seconds: passed.append(passed.pop() + seconds)


async def opened(*tokens: str, **more: str) -> list[Socket]:
    found = [Socket.by_bearer(token, **more) for token in tokens]
    for socket in found:
        assert await socket.open()
        assert await socket.is_silent()
    return found


async def refused(access: str, *headers: tuple[bytes, bytes], **more: str) -> tuple[int, str]:
    socket = Socket.by_bearer(access, *headers, **more)
    assert await socket.open()
    return await socket.code()


async def leave(sockets: list[Socket]) -> None:
    for socket in sockets:
        await socket.leave()


def test_a_person_has_so_many_sockets_open_and_more_when_one_is_closed(
    access: str, make_user: Any, settings: Any
) -> None:
    settings.BUDGETS = {"sockets": Rate(3, 0)}
    other = actions.sign_in(make_user(), "android").access

    async def scenario() -> None:
        mine = await opened(*[access] * 3)
        assert await refused(access) == (TOO_MUCH, "sockets")
        assert await refused(access, client="203.0.113.5") == (TOO_MUCH, "sockets")
        theirs = await opened(other)
        await mine.pop().leave()
        mine += await opened(access)
        await leave(mine + theirs)
        assert local._held == {}

    run(scenario)


def test_twenty_are_the_default(access: str) -> None:
    async def scenario() -> None:
        mine = [Socket.by_bearer(access) for _ in range(20)]
        for socket in mine:
            assert await socket.open()
        assert await refused(access) == (TOO_MUCH, "sockets")
        await leave(mine)

    run(scenario)


def test_an_address_has_so_many_sockets_open_whoever_opens_them(
    access: str, make_user: Any, settings: Any
) -> None:
    settings.BUDGETS = {"sockets_address": Rate(2, 0)}
    other = actions.sign_in(make_user(), "android").access
    household = "2001:db8:0:1::"

    async def scenario() -> None:
        sockets = await opened(access, other, client=household + "1")
        assert await refused(other, client=household + "2") == (TOO_MUCH, "sockets_address")
        assert await refused("nonsense", client=household + "3") == (TOO_MUCH, "sockets_address")
        settings.TRUSTED_PROXIES = 1
        forwarded = (b"x-forwarded-for", f"{household}9".encode())
        assert await refused(access, forwarded) == (TOO_MUCH, "sockets_address")
        settings.TRUSTED_PROXIES = 0
        sockets += await opened(access, client="2001:db8:0:2::1")
        await leave(sockets)

    run(scenario)


def test_an_address_opens_so_many_sockets_in_a_while(
    access: str, settings: Any, later: Any
) -> None:
    settings.BUDGETS = {"handshake": Rate(3, 60)}

    async def scenario() -> None:
        for _ in range(2):
            await leave(await opened(access))
        assert (await refused("nonsense"))[0] == 4001  # bad ones count as well
        assert await refused(access) == (TOO_MUCH, "handshake")
        await leave(await opened(access, client="203.0.113.5"))
        later(59)
        assert await refused(access) == (TOO_MUCH, "handshake")
        later(1)
        await leave(await opened(access))

    run(scenario)


def test_a_socket_takes_so_many_frames_and_no_flood_makes_an_error(
    access: str, later: Any, caplog: Any
) -> None:
    async def scenario() -> None:
        (socket,) = await opened(access)
        for _ in range(30):
            await socket.send("hello")
        assert await socket.is_silent()
        later(2)
        for _ in range(2):
            await socket.send("hello")
        assert await socket.is_silent()
        for _ in range(500):
            await socket.send("hello")
        assert await socket.code() == (TOO_MUCH, "frame")
        (another,) = await opened(access)
        await another.send("hello")
        assert await another.is_silent()
        await another.leave()

    run(scenario)
    assert caplog.records == []


def test_zero_lifts_each_of_them(access: str, settings: Any) -> None:
    names = ("sockets", "sockets_address", "handshake", "frame")
    settings.BUDGETS = dict.fromkeys(names)

    async def scenario() -> None:
        mine = [Socket.by_bearer(access) for _ in range(22)]
        for socket in mine:
            assert await socket.open()
        for _ in range(100):
            await mine[0].send("hello")
        assert await mine[0].is_silent()
        await leave(mine)

    run(scenario)


def test_idle_owners_are_dropped_before_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch, later: Any
) -> None:
    monkeypatch.setattr(local, "OWNERS_MAX", 3)
    for number in range(3):
        local.take(HANDSHAKE, f"a{number}")
        later(0.1)
    later(0.1)
    local.take(HANDSHAKE, "b")
    assert {owner for _name, owner in local._buckets} <= {"a2", "b"}
    for number in range(9):
        local.take(HANDSHAKE, f"c{number}")
    assert len(local._buckets) <= 3
