"""Turns: limits on the requests that a process works on at once, and on the slow ones among them.

A request is slow if it waits: for a picture decoder, for a password hasher, or for others that try
the same password. Before such work it takes one of a few places, so that slow requests never block
all others. On ASGI, in the embedded mode, each request has a thread of its own: a slow one gives
its turn back before it takes a place, so that all turns are free for other requests. A limited
number of further slow requests waits for a place.

WSGI, commands and workers take no places.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from socialsite.core.errors import AppError, RateLimited, Unavailable
from socialsite.core.http.server.body_limits import Application, Message, Receive, Send

REQUESTS_AT_ONCE = 32  # on ASGI, beside the slow ones
SLOW_ASGI = 16
LINE_ASGI = 64  # requests that may wait for a place
WAIT_SECONDS = 10.0
RETRY_SECONDS = 2

SAFE = ("GET", "HEAD", "OPTIONS")
PASSWORD, UPLOAD = "password", "upload"


class Places:
    """The places for slow work in a process, at most half of them for uploads.

    One owner, an address or a person, can never take all places of a kind. At most `line` requests
    wait for a place, and one owner has at most a part of that line.
    """

    def __init__(self, at_most: int, line: int = 0) -> None:
        self._at_most, self._line = at_most, line
        self._taken: Counter[tuple[str, str]] = Counter()
        self._waiting: Counter[str] = Counter()
        self._changed = threading.Condition()

    def take(self, kind: str, owner: str) -> None:
        """Take a place, waiting at most WAIT_SECONDS; the owner "" has no share of its own.

        Raises RateLimited if the owner has used its share, Unavailable if no place is free.
        """
        latest = time.monotonic() + WAIT_SECONDS
        with self._changed:
            while (refusal := self._refusal(kind, owner)) is not None:
                if not self._wait(owner, latest - time.monotonic()):
                    raise refusal
            self._taken.update(self._keys(kind, owner))

    def release(self, kind: str, owner: str) -> None:
        """Give a place back."""
        with self._changed:
            self._taken.subtract(self._keys(kind, owner))
            for key in self._keys(kind, owner):
                if not self._taken[key]:
                    del self._taken[key]
            self._changed.notify_all()

    def _refusal(self, kind: str, owner: str) -> AppError | None:
        of_kind = (self._at_most + 1) // 2 if kind == UPLOAD else self._at_most
        if owner and self._taken[kind, owner] >= _most_of(of_kind):
            return RateLimited(retry_after=RETRY_SECONDS)
        if self._taken["", ""] >= self._at_most or self._taken[kind, ""] >= of_kind:
            return Unavailable(retry_after=RETRY_SECONDS)
        return None

    def _wait(self, owner: str, seconds: float) -> bool:
        """Wait until a place is given back; return False on timeout or if the line is full."""
        room = _most_of(self._line) if owner else self._line
        if seconds <= 0 or self._waiting.total() >= self._line or self._waiting[owner] >= room:
            return False
        self._waiting[owner] += 1
        try:
            self._changed.wait(seconds)
        finally:
            self._waiting[owner] -= 1
            if not self._waiting[owner]:
                del self._waiting[owner]
        return True

    def _keys(self, kind: str, owner: str) -> list[tuple[str, str]]:
        return [("", ""), (kind, ""), *([(kind, owner)] if owner else [])]


def _most_of(number: int) -> int:
    """Return the maximum share of one owner."""
    return max(1, number * 7 // 8)


class _Served(NamedTuple):
    """State of a request in work: the places of its process, and how to give its turn back."""

    places: Places
    leave: Callable[[], object]


_served: ContextVar[_Served | None] = ContextVar("_served", default=None)


class _Inside(threading.local):
    is_slow = False


_inside = _Inside()


@contextmanager
def within(places: Places, leave: Callable[[], object]) -> Iterator[None]:
    """Serve a request whose slow work gives its turn back and takes one of these places."""
    token = _served.set(_Served(places, leave))
    try:
        yield
    finally:
        _served.reset(token)


@contextmanager
def slow(kind: str, owner: object = "") -> Iterator[None]:
    """Hold a place for slow work; may wait for it. Nested slow work takes no second place.

    Raises RateLimited if the owner has used its share, Unavailable if no place is free.
    """
    served = _served.get()
    if served is None or _inside.is_slow:
        yield
        return
    name = str(owner)
    served.leave()
    served.places.take(kind, name)
    _inside.is_slow = True
    try:
        yield
    finally:
        _inside.is_slow = False
        served.places.release(kind, name)


@contextmanager
def worker(
    kind: str, workers: threading.Semaphore, seconds: int, owner: object = ""
) -> Iterator[None]:
    """Hold a place for slow work, then one of few workers; wait at most this many seconds.

    Raises the errors of `slow`, and Unavailable if no worker became free.
    """
    with slow(kind, owner):
        if not workers.acquire(timeout=seconds):
            raise Unavailable(retry_after=seconds)
        try:
            yield
        finally:
            workers.release()


class Turns:
    """ASGI middleware that limits how many requests Django works on at once; the rest wait.

    On ASGI Django starts a thread for each request. A turn begins when the body is complete and
    ends when the response begins, so that a client that sends or reads slowly blocks nobody. The
    turn of a slow request ends before it takes its place. Unsafe methods may use half of the turns.
    """

    def __init__(self, application: Application, at_once: int, places: Places) -> None:
        self._application = application
        self._places = places
        self._free = asyncio.Semaphore(at_once)
        # Otherwise pages would queue behind log-ins that are not yet known to be slow.
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
