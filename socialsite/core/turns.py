"""Turns: how many requests a process works on at once."""

import asyncio
from typing import Any

from socialsite.core.bodies import Application, Message, Receive, Send


class Turns:
    """ASGI middleware that lets Django work on so many requests at once; the others wait.

    On ASGI Django starts a thread for each request. A turn begins when the body is there and ends
    when the answer begins, so that a client that is slow to send or to read keeps nobody waiting.
    """

    def __init__(self, application: Application, at_once: int) -> None:
        self._application = application
        self._free = asyncio.Semaphore(at_once)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        has_turn = False

        async def receive_and_wait() -> Message:
            nonlocal has_turn
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await self._free.acquire()
                has_turn = True
            return message

        def leave() -> None:
            nonlocal has_turn
            if has_turn:
                has_turn = False
                self._free.release()

        async def send_and_leave(message: Message) -> None:
            leave()
            await send(message)

        try:
            await self._application(scope, receive_and_wait, send_and_leave)
        finally:
            leave()
