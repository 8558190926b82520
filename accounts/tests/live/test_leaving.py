"""A browser may disconnect at any moment, and its socket then logs nothing.

The server here is as strict as uvicorn: it raises for messages after the close or to a browser that
is gone, and for all but `websocket.accept` before the handshake is done.
"""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer

from accounts import actions, live_hints, sign_out_reasons
from accounts.events import TokensRevoked
from accounts.live import consumers
from accounts.live.consumers import SessionConsumer
from accounts.tests.live.talk import HOST, ORIGIN, in_thread, run
from socialsite.asgi import application
from socialsite.core import redis
from socialsite.tests.support.waiting import LIMIT

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


class Gone(OSError):
    """The browser is gone."""


class Server:
    """Serves one socket; the browser disconnects at the moment with the number `leaves_at`."""

    def __init__(self, access: str, leaves_at: int = 0, *, silently: bool = False) -> None:
        self.leaves_at, self.silently = leaves_at, silently
        self.moments = 0
        self.sent: list[Any] = []
        self.wrong: list[Any] = []
        self.is_gone = self.is_accepted = self.is_closed = False
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        cookie = f"access={access}; refresh=".encode()
        self._scope = {
            "type": "websocket",
            "scheme": "ws",
            "path": "/ws/session/",
            "query_string": b"",
            "headers": [HOST, ORIGIN, (b"cookie", cookie)],
            "subprotocols": [],
        }

    def moment(self) -> None:
        """Mark a moment at which the browser may disconnect."""
        self.moments += 1
        if self.moments == self.leaves_at:
            self.leave()

    def leave(self) -> None:
        """Disconnect the browser; `silently`: the server notices only when it sends."""
        self.is_gone = True
        self.tell({"type": "websocket.disconnect", "code": 1006})

    def tell(self, message: dict[str, Any]) -> None:
        self._inbox.put_nowait(message)

    async def send(self, message: dict[str, Any]) -> None:
        self.moment()
        kind = message["type"]
        if self.is_closed or (not self.is_accepted and kind == "websocket.send"):
            if not self.is_gone:
                self.wrong.append(f"{kind} after {self.sent}")
            raise RuntimeError(f"Unexpected ASGI message '{kind}'")
        if self.is_gone and self.silently and kind == "websocket.accept":
            return  # it accepts the message and keeps waiting for the disconnect
        if self.is_gone:
            raise Gone
        self.sent.append(kind)
        self.is_accepted |= kind == "websocket.accept"
        if kind == "websocket.close":
            self.is_closed = True
            self.tell({"type": "websocket.disconnect", "code": message.get("code", 1000)})

    async def serve(self) -> None:
        self.tell({"type": "websocket.connect"})
        await application(self._scope, self._inbox.get, self.send)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Server]:
    """A server with a moment before and after every wait of its socket."""
    servers: list[Server] = []

    def around(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def watch(*args: Any, **kwargs: Any) -> Any:
            servers[-1].moment()
            try:
                return await function(*args, **kwargs)
            finally:
                servers[-1].moment()

        return watch

    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.03)
    monkeypatch.setattr(consumers, "_in_time", around(consumers._in_time))
    monkeypatch.setattr(SessionConsumer, "_join", around(SessionConsumer._join))
    return servers


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.005)


def hint(user: Any) -> None:
    """Send one hint and lose others, which the socket then makes up for."""
    live_hints.push([user.pk], {"type": "new_posts", "count": 1})
    redis.call(lambda connection: connection.delete(live_hints.ONLINE))


def sign_out(user: Any) -> None:
    """End the sign-in; the socket learns of it by two kicks and by its own check."""
    actions.log_out(user, "chrome")
    live_hints.kick(TokensRevoked(user.pk, "chrome", 99, sign_out_reasons.EXPIRED, False))


@pytest.mark.parametrize("silently", [False, True])
@pytest.mark.parametrize("happening", [hint, sign_out])
def test_a_browser_may_go_away_at_every_moment(
    happening: Callable[[Any], None],
    silently: bool,
    make_user: Any,
    watched: list[Server],
    caplog: pytest.LogCaptureFixture,
) -> None:
    user = make_user()
    problems: list[Any] = []

    async def live(leaves_at: int) -> bool:
        """Return whether the browser disconnected at that moment, before the end."""
        pair = await in_thread(actions.sign_in, user, "chrome")
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: problems.append(context))
        server = Server(pair.access, leaves_at, silently=silently)
        watched.append(server)
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.is_accepted or server.is_gone)
        before = server.moments
        await in_thread(happening, user)
        await until(lambda: server.is_gone or server.is_closed or server.moments > before + 4)
        left = server.is_gone
        if not left and not server.is_closed:
            server.leave()
        await asyncio.wait_for(serving, LIMIT)
        assert not server.wrong, server.wrong
        assert server.sent.count("websocket.close") <= 1
        assert get_channel_layer()._get_layer().groups == {}
        return left

    async def scenario() -> None:
        leaves_at = 1
        while await live(leaves_at):
            leaves_at += 1
        assert leaves_at > 4
        gc.collect()  # makes tasks with unread errors report them
        await asyncio.sleep(0)

    with caplog.at_level(logging.INFO):
        run(scenario)
    assert not problems
    found = [r for r in caplog.records if r.exc_info or r.levelno >= logging.WARNING]
    assert not found, [record.getMessage() for record in found]


def test_frames_during_the_close_of_a_socket_get_no_response(
    make_user: Any, watched: list[Server]
) -> None:
    pair = actions.sign_in(make_user(), "chrome")

    async def scenario() -> None:
        server = Server(pair.access)
        watched.append(server)
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.is_accepted)
        for _ in range(3):  # each of them alone closes the socket
            server.tell({"type": "websocket.receive", "text": "x" * (consumers.FRAME_MAX + 1)})
        await asyncio.wait_for(serving, LIMIT)
        assert server.sent == ["websocket.accept", "websocket.close"]
        assert not server.wrong

    run(scenario)
