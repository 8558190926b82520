"""WebSockets for tests: `run` executes a scenario in which a `Socket` opens, reads and ends."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import jwt
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings

from accounts import tokens
from socialsite.asgi import application
from socialsite.tests.support.waiting import LIMIT

HOST = (b"host", b"localhost:8000")
ORIGIN = (b"origin", b"http://localhost:8000")


def run(scenario: Callable[[], Awaitable[Any]]) -> Any:
    """Run a scenario in its own event loop."""

    async def all_of_it() -> Any:
        try:
            return await asyncio.wait_for(scenario(), LIMIT)
        finally:
            await get_channel_layer().flush()

    return async_to_sync(all_of_it)()


class Socket:
    """One socket of a test (Channels' own helper needs a server that the site does not use)."""

    def __init__(
        self,
        *headers: tuple[bytes, bytes],
        ticket: str = "",
        scheme: str = "ws",
        path: str = "/ws/session/",
        client: str = "127.0.0.1",
    ) -> None:
        scope = {
            "type": "websocket",
            "scheme": scheme,
            "client": [client, 5000],
            "path": path,
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
    def by_bearer(cls, access: str, *headers: tuple[bytes, bytes], **more: str) -> "Socket":
        return cls((b"authorization", f"Bearer {access}".encode()), *headers, **more)

    async def open(self) -> bool:
        await self._talk.send_input({"type": "websocket.connect"})
        return (await self._talk.receive_output(timeout=LIMIT))["type"] == "websocket.accept"

    async def receive(self) -> Any:
        return json.loads((await self._talk.receive_output(timeout=LIMIT))["text"])

    async def is_silent(self) -> bool:
        """Return whether nothing arrives at once; a slow machine lets this pass, never fail."""
        return await self._talk.receive_nothing(timeout=0.15)

    async def send(self, text: str) -> None:
        await self._talk.send_input({"type": "websocket.receive", "text": text})

    async def code(self) -> tuple[int, str]:
        """Wait for the close, skipping messages before it; returns code and reason."""
        found = await self.end()
        await self.leave()
        return found

    async def end(self) -> tuple[int, str]:
        """Wait likewise, but do not disconnect."""
        while True:
            message = await self._talk.receive_output(timeout=LIMIT)
            if message["type"] == "websocket.close":
                return message["code"], message.get("reason") or ""

    async def leave(self) -> None:
        await self._talk.send_input({"type": "websocket.disconnect", "code": 1000})
        await self._talk.wait(timeout=LIMIT)


async def until(check: Callable[[], bool]) -> None:
    """Wait until the check passes; `run` limits the wait."""
    while not await in_thread(check):
        await asyncio.sleep(0.02)


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in another thread, as a view or a worker does."""
    return await database_sync_to_async(function, thread_sensitive=True)(*args, **kwargs)


def claims_of(pair: tokens.TokenPair) -> dict[str, Any]:
    return asdict(tokens.decode_access(pair.access))


async def opens(*headers: tuple[bytes, bytes], **kwargs: Any) -> bool:
    """Return whether a socket opens and stays open."""
    socket = Socket(*headers, **kwargs)
    if not await socket.open():
        return False
    assert await socket.is_silent()
    await socket.leave()
    return True


def over(token: str) -> str:
    """Return an expired copy of the token."""
    payload = jwt.decode(token, options={"verify_signature": False}) | {"exp": 1}
    key = settings.JWT_KEYS[0]
    return jwt.encode(payload, key, "HS256", {"kid": jwt.get_unverified_header(token)["kid"]})
