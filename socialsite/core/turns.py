"""Turns: how many requests a process works on at once, and how many of them may be slow.

Slow is what waits: for a decoder, for a hasher, for others that try the same password. A request
that begins such work takes a place, of which there are fewer than threads, and is refused at once
when none is left. So whatever many slow requests do, others find a thread:

- On ASGI each request has a thread of its own. A slow one gives its turn back when it takes a
  place, so that all turns are there for the others.
- On WSGI a thread is what a turn is. One more than there are places is never slow.

What serves no request (commands, workers) takes no place.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from socialsite.core.bodies import Application, Message, Receive, Send
from socialsite.core.errors import RateLimited, Unavailable

REQUESTS_AT_ONCE = 32  # on ASGI, beside those that are slow
THREADS = 4  # of a process that serves WSGI
SLOW_ASGI = 16
SLOW_WSGI = THREADS - 1
RETRY_SECONDS = 2

SAFE = ("GET", "HEAD", "OPTIONS")
PASSWORD, UPLOAD = "password", "upload"


class Places:
    """The places of slow work in a process, at most half of them for uploads.

    One owner, an address or a person, never has all that its kind of work may have.
    """

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._taken: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def take(self, kind: str, owner: str) -> None:
        """Take a place; "" is nobody, who has no share.

        Raises RateLimited when the owner has its share, Unavailable when no place is left.
        """
        of_kind = (self._at_most + 1) // 2 if kind == UPLOAD else self._at_most
        of_owner = max(1, of_kind * 7 // 8)
        with self._lock:
            if owner and self._taken[kind, owner] >= of_owner:
                raise RateLimited(retry_after=RETRY_SECONDS)
            if self._taken["", ""] >= self._at_most or self._taken[kind, ""] >= of_kind:
                raise Unavailable(retry_after=RETRY_SECONDS)
            self._taken.update(self._keys(kind, owner))

    def give_back(self, kind: str, owner: str) -> None:
        """Give a place back."""
        with self._lock:
            self._taken.subtract(self._keys(kind, owner))
            for key in self._keys(kind, owner):
                if not self._taken[key]:
                    del self._taken[key]

    def _keys(self, kind: str, owner: str) -> list[tuple[str, str]]:
        return [("", ""), (kind, ""), *([(kind, owner)] if owner else [])]


class _Served(NamedTuple):
    """What a request in work has: the places of its process, and how its turn is given back."""

    places: Places
    leave: Callable[[], object] | None


_served: ContextVar[_Served | None] = ContextVar("_served", default=None)


class _Inside(threading.local):
    is_slow = False


_inside = _Inside()


@contextmanager
def within(places: Places, leave: Callable[[], object] | None = None) -> Iterator[None]:
    """Serve a request in which slow work takes one of these places and then gives a turn back."""
    token = _served.set(_Served(places, leave))
    try:
        yield
    finally:
        _served.reset(token)


@contextmanager
def slow(kind: str, owner: object = "") -> Iterator[None]:
    """Hold a place for slow work; within such work it asks for no second one.

    Raises RateLimited when the owner has its share, Unavailable when no place is left.
    """
    served = _served.get()
    if served is None or _inside.is_slow:
        yield
        return
    name = str(owner)
    served.places.take(kind, name)
    _inside.is_slow = True
    try:
        if served.leave is not None:
            served.leave()
        yield
    finally:
        _inside.is_slow = False
        served.places.give_back(kind, name)


class Turns:
    """ASGI middleware that lets Django work on so many requests at once; the others wait.

    On ASGI Django starts a thread for each request. A turn begins when the body is there and ends
    when the answer begins, so that a client that is slow to send or to read keeps nobody waiting;
    a slow request's ends when it takes its place. What may write has half of the turns.
    """

    def __init__(self, application: Application, at_once: int, slow: int) -> None:
        self._application = application
        self._places = Places(slow)
        self._free = asyncio.Semaphore(at_once)
        # Else pages would stand in line behind log-ins before those are known to be slow.
        self._for_writes = asyncio.Semaphore(max(1, at_once // 2))

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        held: list[asyncio.Semaphore] = []
        is_read = scope.get("method", "GET") in SAFE

        async def receive_and_wait() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                for turns in (self._free,) if is_read else (self._for_writes, self._free):
                    await turns.acquire()
                    held.append(turns)
            return message

        def leave() -> None:
            while held:
                held.pop().release()

        async def send_and_leave(message: Message) -> None:
            leave()
            await send(message)

        loop = asyncio.get_running_loop()
        try:
            with within(self._places, partial(loop.call_soon_threadsafe, leave)):
                await self._application(scope, receive_and_wait, send_and_leave)
        finally:
            leave()
